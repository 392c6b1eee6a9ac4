"""Help texts of options that the commands of `private` and of X-Map share."""

FEATURES_HELP = (
    "Columns of public item metadata, with commas; default: genres, tags, categories, price, year "
    "where there are any; '' for none."
)
STARS_HELP = "Also release mean stars, to predict stars: 40 % of the budget."
