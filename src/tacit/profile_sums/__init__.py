"""Lists from noisy sums over people's profiles: what `private` and the sound X-Map share.

A person's row goes through these files in this order:

settings.py        every choice, checked once
events.py          what the sums cost, declared before the first one
catalogue.py       which items a profile is read for, and which items lists are made of
features.py        public item metadata as columns
dense_features.py  public vectors of items; text_features.py: texts of the catalogue
consent.py         what people who agreed not to be protected give
people.py          what one person contributes
sums/              one file for each released sum: contribution, clip, noise, and its use
release.py         the order of the sums of lists, top to bottom
release_stars.py   the order of the optional sums of stars
own_likes.py       what likes add to a taste, through the released tastes of the liked items
usefulness.py      whether lists are expected to beat popularity
fits.py            one fit as a fact, and what several cost together
fit_plan.py        noise of several fits that share one budget, fixed before the first
plan_state.py      what they release, added up
fitted_lists.py    everything that a fit leaves, frozen
scoring.py         scores and reasons for one person; batch_lists.py: lists for many
files.py           model files; plan_files.py: a plan's state in them; device_files.py: what
                   devices read
guarantees.py      cards
model.py           `PrivateLists`, the class on which both designs build
audit/             neighbouring data sets, whole fits of them, and planted bugs
"""
