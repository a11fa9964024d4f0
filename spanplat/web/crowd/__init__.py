"""Pages of annotators, previews of them, and the researcher's pages on people, checks and pools."""

from spanplat.web.crowd import annotator, draft_preview, people, pools, practice, preview

PAGES = (people, pools, annotator, practice, preview, draft_preview)
"""The modules with routes."""
WITHOUT_COOKIES = (annotator, practice, preview, draft_preview)
"""Modules whose routes need no CSRF protection: their credential is the token in the address, or they write nothing."""
