"""Campaigns as a service: `campaigns` keeps the state of each, `router` has the resources."""
