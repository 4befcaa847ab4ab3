"""One module a page; each has an `add(site)` that puts it on the site."""
