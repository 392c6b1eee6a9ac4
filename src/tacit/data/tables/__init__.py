"""Tables of ratings: opened, understood, cleaned, and stored as one folder.

A file goes through these modules in this order:

sources.py         opens a file: Parquet, JSON, databases, text
text.py            text files: encoding (encodings.py), quotes (quotes.py), delimiter, rows
table.py           `Table`, and its columns by their names
names.py           names of columns (names.toml); item_words.py: what items are called
layouts.py         rows that hold several ratings; forms.py: which layouts there are
joins.py           people and items in two tables, joined
where.py           conditions on rows
column_guess.py    what each column holds
import_plan.py     what each of several files is, before rows are read
cells.py           cells become ids, stars, plays and times (times.py)
ratings_tables.py  clean rows become ratings; degenerate.py: too few people, items or likes
written_format.py  how rows are written, so that rows.py reads them again one by one
folder.py          the folder of  tacit data import; imported_files.py: one file of it alone
buckets.py         Parquet files that do not fit into memory; stored_folder.py: such a folder
text_lines.py      lines of text that a cluster hands over one by one
consent_lists.py   lists of consenting people; vectors.py: vectors of items
research_folders.py  folders of RecBole and LensKit
"""
