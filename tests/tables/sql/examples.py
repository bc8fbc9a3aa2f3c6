"""Sixty statements in the style of other systems' documentation, written for the tables of these tests.

Each has the name of the system whose documentation shows a question of this form, and the dialect it is written in.
"""

# ruff: noqa: E501  (statements are kept on one line)
from __future__ import annotations

_DP = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-6, max_groups_contributed=2, privacy_unit_column={})"
)
_BIGQUERY = [
    f"{_DP.format('customer')} item, AVG(quantity, contribution_bounds_per_group => (0, 100)) AS average FROM orders GROUP BY item",
    f"{_DP.format('customer')} item, SUM(quantity, contribution_bounds_per_group => (0, 100)) AS total FROM orders GROUP BY item",
    f"{_DP.format('customer')} item, COUNT(*) AS times FROM orders GROUP BY item",
    f"{_DP.format('customer')} item, COUNT(*, contribution_bounds_per_group => (0, 2)) AS times FROM orders GROUP BY item",
    f"{_DP.format('customer')} COUNT(quantity) AS n FROM orders",
    f"{_DP.format('customer')} item, PERCENTILE_CONT(quantity, 0.5, contribution_bounds_per_row => (0, 100)) AS half FROM orders GROUP BY item",
    f"{_DP.format('customer')} APPROX_QUANTILES(quantity, 2, contribution_bounds_per_row => (0, 100)) AS q FROM orders",
    f"{_DP.format('customer')} item, VAR_POP(quantity, contribution_bounds_per_row => (0, 100)) AS v FROM orders GROUP BY item",
    f"{_DP.format('customer')} item, STDDEV_POP(quantity, contribution_bounds_per_row => (0, 100)) AS s FROM orders GROUP BY item",
    f"{_DP.format('shop.orders.customer')} COUNT(DISTINCT customer) AS people FROM orders",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-6, group_selection_strategy=PUBLIC_GROUPS) "
    "item, AVG(quantity) AS a FROM orders WHERE item IN ('pen', 'pencil') GROUP BY item",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.5, delta=1e-7) COUNTIF(quantity > 20) AS large FROM orders",
    "SELECT WITH DIFFERENTIAL_PRIVACY item, COUNT(*) AS n FROM orders GROUP BY item ORDER BY n DESC LIMIT 2",
    "SELECT WITH ANONYMIZATION OPTIONS(epsilon=1, delta=1e-6, kappa=2) ward, ANON_COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT WITH ANONYMIZATION ward, ANON_SUM(cost CLAMPED BETWEEN 0 AND 1000) AS total FROM visits GROUP BY ward",
    "SELECT WITH ANONYMIZATION ANON_AVG(stay_days CLAMPED BETWEEN 0 AND 14) AS stay FROM visits",
    "SELECT SAFE_DIVIDE(SUM(cost), COUNT(*)) AS per_visit FROM visits",
    "SELECT EXTRACT(DAYOFWEEK FROM day) AS weekday, COUNT(*) AS n FROM visits GROUP BY weekday",
    "SELECT FORMAT_DATE('%Y-%m', day) AS month, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY month",
    "SELECT COUNT(*) AS n FROM hospital.visits",
]
_SNOWFLAKE = [
    "SELECT COUNT(DISTINCT patient_id) FROM visits WHERE age > 18",
    "SELECT SUM(cost) AS sum_cost, DP_INTERVAL_LOW(sum_cost) FROM visits",
    "SELECT AVG(age) AS a, DP_INTERVAL_LOW(a) AS low, DP_INTERVAL_HIGH(a) AS high FROM visits",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT COUNT(age) AS count_age FROM visits WHERE age >= 20 AND age <= 100",
    "SELECT ward, AVG(age) FROM visits WHERE age >= 20 AND age <= 60 GROUP BY ward",
    "SELECT MIN(age), MAX(age) FROM visits",
    "SELECT MEDIAN(cost) FROM visits",
    "SELECT STDDEV(cost) FROM visits WHERE ward = 'burns'",
    "SELECT COUNT_IF(urgent) AS urgent_visits FROM visits",
    "SELECT COUNT(DISTINCT CASE WHEN urgent THEN patient_id END) AS people FROM visits",
    "SELECT CASE WHEN age < 65 THEN 'young' ELSE 'old' END AS band, COUNT(*) FROM visits GROUP BY band",
    "WITH adults AS (SELECT * FROM visits WHERE age >= 18) SELECT COUNT(*) FROM adults",
    "SELECT * FROM visits LIMIT 10",
    "SELECT IFF(urgent, 'yes', 'no') AS u, AVG(stay_days) FROM visits GROUP BY u",
]
_SMARTNOISE = [
    "SELECT ward, AVG(age) AS age FROM visits GROUP BY ward",
    "SELECT urgent, AVG(cost) AS cost, COUNT(*) AS n FROM visits GROUP BY urgent",
    "SELECT COUNT(*) FROM visits",
    "SELECT COUNT(*) AS n, SUM(age) AS years FROM visits WHERE urgent",
    "SELECT VARIANCE(age) AS v, STDDEV(age) AS s FROM visits",
    "SELECT ward, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY ward ORDER BY people DESC",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING n > 50 ORDER BY n",
    "SELECT SUM(cost) / COUNT(*) AS mean_cost FROM visits",
    "SELECT ward, 100.0 * COUNT(*) AS hundredfold FROM visits GROUP BY ward",
    "SELECT TOP 3 ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "SELECT AVG(x) AS a FROM (SELECT cost / 2 AS x FROM visits) AS half",
    "SELECT COUNT(*) AS n FROM main.visits",
    "SELECT ward, region, SUM(cost) AS total FROM visits GROUP BY ward, region",
]
_PRIVACY = [
    "SELECT ward, urgent, SUM(cost) FROM visits GROUP BY ALL",
    "SELECT SUM(cost) FROM visits WHERE day >= DATE '2025-03-01' AND day < DATE '2025-03-01' + INTERVAL 1 MONTH",
    "SELECT SUM(price * quantity) AS revenue FROM orders",
    "SELECT SUM(CLAMP(price, 0, 50) * (1 - 0.1)) AS reduced, AVG(quantity) FROM orders",
    "SELECT item, COUNT(*) FROM orders GROUP BY item",
    "SELECT patient_id, SUM(cost) FROM visits GROUP BY patient_id",
    "SELECT note FROM visits",
    "SELECT COUNT(DISTINCT ward) FROM visits",
    "SELECT 100 * SUM(CASE WHEN urgent THEN cost ELSE 0 END) / SUM(cost) AS share FROM visits",
    "SELECT date_trunc('quarter', day) AS quarter, AVG(cost) AS mean FROM visits GROUP BY quarter ORDER BY quarter",
    "SELECT CASE WHEN COUNT(*) > 100 THEN 'many' ELSE 'few' END AS size, ward FROM visits GROUP BY ward",
    "EXPLAIN SELECT ward, COUNT(*) FROM visits GROUP BY ward",
]

#: (the system, the dialect, the statement)
EXAMPLES = [
    *(("BigQuery", "bigquery", text) for text in _BIGQUERY),
    *(("Snowflake", "snowflake", text) for text in _SNOWFLAKE),
    *(("SmartNoise", "duckdb", text) for text in _SMARTNOISE),
    *(("DuckDB extension privacy", "duckdb", text) for text in _PRIVACY),
]
