"""What the recommender learns from people who agreed to show ratings and attribute."""
