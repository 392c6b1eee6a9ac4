"""The resources of the interface: one file for each.

`health` (process, metrics, the OpenAPI document), `page` (files of the web page), `models`,
`recommendations`, `splits` (comparisons of lists), `feedback` (a person's stored ratings), `users`
(forgetting a person), `people` (keys of people and visitors), `guarantees`, `budgets`,
`log_overview` (the operator's page). The resources of a design are in its folder `serve/`.
"""
