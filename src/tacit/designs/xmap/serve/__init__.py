"""A model of films for the service's demonstration."""
