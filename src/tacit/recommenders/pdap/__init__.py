"""P-DAP: vendors that recommend videos, learn from clicks, and forward users to one another.

Source   Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
         recommendation with multimedia big data in social networks (2015).
"""
