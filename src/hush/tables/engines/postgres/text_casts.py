"""Text as a number, a date or a truth value where it has that form, else null, in PostgreSQL's SQL."""

from __future__ import annotations

__all__ = ["TRY_CASTS"]

#: Up to 18 digits always fit bigint; up to 40 are compared as numeric.
WHOLE = (
    "CASE WHEN x ~ '^\\s*[+-]?[0-9]{1,18}\\s*$' THEN x::bigint WHEN x ~ '^\\s*[+-]?[0-9]{19,40}\\s*$' THEN "
    "CASE WHEN x::numeric BETWEEN (-9223372036854775808)::numeric AND 9223372036854775807::numeric "
    "THEN x::bigint END END"
)
#: At most 300 characters and an exponent of at most three digits: exact as numeric, which is then compared with the
#: range of float8.
FLOAT = (
    "CASE WHEN x ~* '^\\s*[+-]?(nan|inf|infinity)\\s*$' AND x !~* '^\\s*[+-]nan' THEN x::float8 "
    "WHEN LENGTH(x) < 300 AND x ~ '^\\s*[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,3})?\\s*$' THEN "
    "CASE WHEN x::numeric = 0 OR (ABS(x::numeric) > 1e-307 AND ABS(x::numeric) < 1.7e308) THEN x::float8 END END"
)
#: Year, month and day, checked with the last day of the month.
DATE = (
    "CASE WHEN x ~ '^\\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\\s*$' THEN CASE WHEN SUBSTR(TRIM(x), 1, 4)::int >= 1 "
    "AND SUBSTR(TRIM(x), 6, 2)::int BETWEEN 1 AND 12 AND SUBSTR(TRIM(x), 9, 2)::int BETWEEN 1 AND CASE "
    "SUBSTR(TRIM(x), 6, 2)::int WHEN 2 THEN CASE WHEN SUBSTR(TRIM(x), 1, 4)::int % 4 = 0 AND "
    "(SUBSTR(TRIM(x), 1, 4)::int % 100 <> 0 OR SUBSTR(TRIM(x), 1, 4)::int % 400 = 0) THEN 29 ELSE 28 END "
    "WHEN 4 THEN 30 WHEN 6 THEN 30 WHEN 9 THEN 30 WHEN 11 THEN 30 ELSE 31 END THEN TRIM(x)::date END END"
)
TRUTH = (
    "CASE WHEN LOWER(TRIM(x)) IN ('t', 'true', 'yes', 'y', '1') THEN TRUE "
    "WHEN LOWER(TRIM(x)) IN ('f', 'false', 'no', 'n', '0') THEN FALSE END"
)
#: By the name of the type.
TRY_CASTS = {"int64": WHOLE, "float64": FLOAT, "date": DATE, "boolean": TRUTH}
