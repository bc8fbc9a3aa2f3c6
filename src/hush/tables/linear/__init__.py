"""Workloads over a table: contingency tables and ranges, with the least noise for all of them together."""
