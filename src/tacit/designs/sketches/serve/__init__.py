"""Campaigns as a service: `campaigns` has the state of a campaign, `router` the HTTP routes."""
