"""Lists from noisy sums over people's profiles: the code that `private` and the sound X-Map share.

The files, in the order in which a fit uses them:

settings.py        every choice, checked once
events.py          the privacy cost of the sums, declared before the first one
catalogue.py       the items that profiles are read for, and the items that lists are made of
features.py        public item metadata as columns
dense_features.py  public vectors of items; text_features.py: texts of the catalogue
consent.py         features and lists learned from people who agreed not to be protected
people.py          everybody's profile, from which the sums are made
sums/              one file for each released sum: contribution, clip, noise, and its use
release.py         the order of the sums of lists, top to bottom
release_stars.py   the order of the optional sums of stars
own_likes.py       the part of a person's taste that comes from the tastes of the items they like
usefulness.py      whether lists are expected to beat popularity
fits.py            the record of one fit, and the cost of several fits together
fit_plan.py        noise of several fits that share one budget, fixed before the first
plan_state.py      the releases of a plan's fits, added up
fitted_lists.py    the whole result of a fit, frozen
scoring.py         scores and reasons for one person; batch_lists.py: lists for many
files.py           model files; plan_files.py: the state of a plan in model files;
                   device_files.py: the file that devices read; device_format.py: its version
guarantees.py      cards
options.py         help texts of commands
model.py           `PrivateLists`, the class on which both designs build
audit/             neighbouring data sets, whole fits of them, and planted bugs
"""
