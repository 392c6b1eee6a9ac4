"""All HTTP resources of vendors."""

from __future__ import annotations

from fastapi import APIRouter

from tacit.designs.pdap.serve import articles, visits

router = APIRouter()
router.routes.extend((*visits.router.routes, *articles.router.routes))
