"""Recommenders: their roles, checked inputs, model files, and baselines.

base.py             the methods of a recommender, and how scores become a list
inputs.py           checks of ratings, histories and ids
headers.py          items, titles and arrays in model files
header_types.py     checks the types of values in model files
item_details.py     categories, prices and pictures of items, which are shown with them
model_files.py      finds the class that reads a model file
public_facts.py     facts that a private fit assumes to be public
fits_in_process.py  counts the fits of one ratings object in this process
baselines/          recommenders to compare with
"""

from tacit.recommenders.base import Recommendation, Recommendations, Recommender
from tacit.recommenders.model_files import load_model

__all__ = ["Recommendation", "Recommendations", "Recommender", "load_model"]
