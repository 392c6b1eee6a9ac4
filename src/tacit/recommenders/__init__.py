"""Recommenders: their roles, checked inputs, model files, and baselines.

base.py          the role of a recommender, and how scores become a list
inputs.py        checks of ratings, histories and ids
headers.py       items, titles and arrays as model files keep them
item_details.py  categories, prices and pictures of items, for showing
model_files.py   which class reads a model file
public_facts.py  what a private fit takes for public
baselines/       recommenders to compare with
"""

from tacit.recommenders.base import Recommendation, Recommendations, Recommender
from tacit.recommenders.model_files import load_model

__all__ = ["Recommendation", "Recommendations", "Recommender", "load_model"]
