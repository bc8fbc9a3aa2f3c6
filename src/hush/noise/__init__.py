"""The noise laws, one file each, their common contract, and the catalogue of all families."""
