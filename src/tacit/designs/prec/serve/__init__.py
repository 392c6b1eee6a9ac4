"""Rounds as a service: `rounds` and `steps` keep the state, `router` has the resources."""
