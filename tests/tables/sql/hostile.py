"""Statements that try to leave a policy, or to see the rows of people. Every one of them is refused."""

from __future__ import annotations

_ROWS = """
SELECT * FROM visits
SELECT * FROM visits WHERE patient_id = 17
SELECT patient_id FROM visits
SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id
SELECT patient_id AS ward, COUNT(*) FROM visits GROUP BY 1
SELECT "patient_id", COUNT(*) FROM visits GROUP BY ALL
SELECT PATIENT_ID, COUNT(*) FROM visits GROUP BY PATIENT_ID
SELECT visits.patient_id, AVG(age) FROM visits GROUP BY visits.patient_id
SELECT patient_id % 2 AS k, COUNT(*) FROM visits GROUP BY k
SELECT CAST(patient_id AS TEXT) AS k, COUNT(*) FROM visits GROUP BY k
SELECT CASE WHEN patient_id = 17 THEN 'him' ELSE 'others' END AS k, COUNT(*) FROM visits GROUP BY k
SELECT COUNT(*) FROM visits WHERE patient_id = 17
SELECT SUM(CLAMP(patient_id, 0, 200)) FROM visits
SELECT MAX(patient_id) FROM visits
SELECT ward FROM visits
SELECT DISTINCT ward FROM visits
SELECT DISTINCT ON (ward) ward, cost FROM visits
SELECT ward, cost FROM visits ORDER BY cost DESC LIMIT 1
SELECT cost FROM visits LIMIT 1
SELECT ward, COUNT(*) FROM visits
SELECT ANY_VALUE(note) FROM visits
SELECT FIRST(note) FROM visits
SELECT LAST(note) FROM visits
SELECT STRING_AGG(note, ',') FROM visits
SELECT GROUP_CONCAT(note) FROM visits
SELECT LIST(cost) FROM visits
SELECT ARRAY_AGG(cost) FROM visits
SELECT ARG_MAX(note, cost) FROM visits
SELECT MAX_BY(note, cost) FROM visits
SELECT MODE(cost) FROM visits
SELECT HISTOGRAM(cost) FROM visits
SELECT COUNT(DISTINCT cost) FROM visits
SELECT COUNT(DISTINCT note) FROM visits
SELECT SUM(DISTINCT age) FROM visits
SELECT AVG(DISTINCT age) FROM visits
SELECT APPROX_COUNT_DISTINCT(note) FROM visits
SELECT BIT_XOR(age) FROM visits
SELECT PRODUCT(age) FROM visits
SELECT BOOL_OR(urgent) FROM visits
SELECT BOOL_AND(urgent) FROM visits
SELECT CORR(age, cost) FROM visits
SELECT COVAR_POP(age, cost) FROM visits
SELECT ENTROPY(ward) FROM visits
SELECT KURTOSIS(age) FROM visits
SELECT COUNT(*) OVER () FROM visits
SELECT ROW_NUMBER() OVER (ORDER BY cost) FROM visits
SELECT SUM(cost) OVER (PARTITION BY ward) FROM visits
SELECT AVG(x) FROM (SELECT RANK() OVER (ORDER BY cost) AS x FROM visits) AS t
SELECT AVG(CLAMP(x, 0, 9)) FROM (SELECT LAG(age) OVER (ORDER BY day) AS x FROM visits) AS t
SELECT COUNT(*) FROM visits QUALIFY ROW_NUMBER() OVER (ORDER BY cost) = 1
SELECT ward, SUM(cost) FROM visits GROUP BY ROLLUP (ward)
SELECT ward, note, COUNT(*) FROM visits GROUP BY CUBE (ward, note)
SELECT patient_id, COUNT(*) FROM visits GROUP BY GROUPING SETS ((patient_id), ())
SELECT COUNT(*) FROM visits USING SAMPLE 1
SELECT COUNT(*) FROM visits TABLESAMPLE 10 PERCENT
SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 1) AS t
SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY cost DESC LIMIT 1) AS t
SELECT COUNT(*) FROM (SELECT DISTINCT ward FROM visits) AS t
SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward) AS t
SELECT * FROM (SELECT AVG(cost) FROM visits) AS t
"""
_OTHER_ROWS = """
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)
SELECT COUNT(*) FROM visits WHERE cost = (SELECT MAX(cost) FROM visits)
SELECT COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM visits WHERE urgent)
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM wards)
SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits WHERE patient_id = 17)
SELECT COUNT(*) FROM visits WHERE age > ALL (SELECT age FROM visits)
SELECT COUNT(*) FROM visits WHERE age = ANY (SELECT age FROM visits)
SELECT (SELECT COUNT(*) FROM visits) FROM visits
SELECT COUNT(*), (SELECT note FROM visits LIMIT 1) FROM visits
SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > (SELECT COUNT(*) FROM orders)
SELECT ward, COUNT(*) FROM visits GROUP BY ward ORDER BY (SELECT MAX(cost) FROM visits)
SELECT COUNT(*) FROM visits LIMIT (SELECT COUNT(*) FROM visits)
SELECT COUNT(*) FROM visits WHERE AVG(cost) > 3
SELECT SUM(AVG(cost)) FROM visits
SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM orders
SELECT COUNT(*) FROM visits UNION ALL SELECT secret FROM visits
SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits EXCEPT SELECT 1
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r
WITH x AS (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM x
WITH x AS (INSERT INTO visits VALUES (1) RETURNING *) SELECT COUNT(*) FROM x
WITH x AS (SELECT * FROM secrets) SELECT COUNT(*) FROM x
WITH visits AS (SELECT * FROM secrets) SELECT COUNT(*) FROM visits
SELECT COUNT(*) FROM visits, LATERAL (SELECT 1) AS t
SELECT COUNT(*) FROM visits CROSS JOIN visits AS other
SELECT COUNT(*) FROM visits JOIN orders ON visits.age = orders.quantity
SELECT COUNT(*) FROM visits JOIN secrets USING (patient_id)
SELECT COUNT(*) FROM visits, orders
SELECT COUNT(*) FROM visits PIVOT (COUNT(*) FOR ward IN ('burns'))
SELECT COUNT(*) FROM visits UNPIVOT (v FOR k IN (age, cost))
"""
_PLACES = """
SELECT COUNT(*) FROM secrets
SELECT COUNT(*) FROM wards
SELECT COUNT(*) FROM main.visits
SELECT COUNT(*) FROM other.main.visits
SELECT COUNT(*) FROM "main"."visits"
SELECT COUNT(*) FROM information_schema.tables
SELECT COUNT(*) FROM information_schema.columns
SELECT COUNT(*) FROM pg_catalog.pg_class
SELECT COUNT(*) FROM pg_user
SELECT COUNT(*) FROM sqlite_master
SELECT COUNT(*) FROM duckdb_settings()
SELECT COUNT(*) FROM duckdb_tables()
SELECT COUNT(*) FROM duckdb_secrets()
SELECT COUNT(*) FROM pragma_table_info('visits')
SELECT COUNT(*) FROM read_csv('/etc/passwd')
SELECT COUNT(*) FROM read_csv_auto('people.csv')
SELECT COUNT(*) FROM read_parquet('people.parquet')
SELECT COUNT(*) FROM parquet_scan('people.parquet')
SELECT COUNT(*) FROM read_json('people.json')
SELECT COUNT(*) FROM read_text('/etc/passwd')
SELECT COUNT(*) FROM read_blob('/etc/passwd')
SELECT COUNT(*) FROM sniff_csv('people.csv')
SELECT COUNT(*) FROM glob('/home/*')
SELECT COUNT(*) FROM 'people.csv'
SELECT COUNT(*) FROM "people.csv"
SELECT COUNT(*) FROM '/etc/passwd'
SELECT COUNT(*) FROM 'https://example.org/people.csv'
SELECT COUNT(*) FROM postgres_scan('host=db', 'public', 'people')
SELECT COUNT(*) FROM sqlite_scan('people.db', 'people')
SELECT COUNT(*) FROM iceberg_scan('people')
SELECT COUNT(*) FROM range(10)
SELECT COUNT(*) FROM generate_series(1, 10)
SELECT COUNT(*) FROM UNNEST([1, 2, 3])
SELECT COUNT(*) FROM (VALUES (1), (2)) AS t(x)
SELECT COUNT(*) FROM query('SELECT * FROM secrets')
SELECT COUNT(*) FROM query_table('secrets')
SELECT COUNT(*) FROM IDENTIFIER('secrets')
SELECT COUNT(*) FROM TABLE(secrets)
SELECT COUNT(*) FROM visits AS OF '2020-01-01'
SELECT COUNT(*) FROM visits FOR SYSTEM_TIME AS OF '2020-01-01'
SELECT AVG(secret) FROM visits
SELECT AVG(CLAMP(secret, 0, 9)) FROM visits
SELECT "secret", COUNT(*) FROM visits GROUP BY "secret"
SELECT COUNT(*) FROM visits WHERE SECRET = 3
SELECT COUNT(*) FROM visits WHERE visits.secret = 3
SELECT COUNT(*) FROM visits WHERE main.visits.secret = 3
SELECT COUNT(*) FROM visits WHERE v.age = 3
SELECT COUNT(*) FROM (SELECT *, secret AS s FROM visits) AS t
SELECT COUNT(*) FROM (SELECT * EXCLUDE (age) FROM visits) AS t
SELECT COUNT(*) FROM (SELECT * REPLACE (secret AS age) FROM visits) AS t
SELECT COUNT(COLUMNS('.*')) FROM visits
SELECT COLUMNS('secret') FROM visits
SELECT MIN(COLUMNS(*)) FROM visits
SELECT COUNT(*) FROM visits WHERE rowid = 3
SELECT COUNT(*) FROM visits WHERE ".unit" = 3
SELECT AVG(".unit") FROM visits
"""
_CHANGES = """
INSERT INTO visits VALUES (1)
INSERT INTO log SELECT * FROM visits
UPDATE visits SET cost = 0
DELETE FROM visits
MERGE INTO visits USING orders ON TRUE WHEN MATCHED THEN DELETE
TRUNCATE TABLE visits
DROP TABLE visits
ALTER TABLE visits ADD COLUMN x INT
CREATE TABLE copy AS SELECT * FROM visits
CREATE VIEW v AS SELECT * FROM visits
CREATE MACRO f(x) AS x + 1
CREATE FUNCTION f(x) AS x + 1
SELECT * INTO copy FROM visits
SELECT COUNT(*) INTO n FROM visits
COPY visits TO 'out.csv'
COPY (SELECT * FROM visits) TO 'out.csv'
EXPORT DATABASE 'out'
ATTACH 'people.db'
DETACH people
INSTALL httpfs
LOAD httpfs
PRAGMA database_list
PRAGMA threads = 1
SET threads = 1
SET VARIABLE x = (SELECT MAX(cost) FROM visits)
RESET threads
CALL pragma_version()
USE other
SHOW TABLES
DESCRIBE visits
SUMMARIZE visits
VACUUM
CHECKPOINT
BEGIN TRANSACTION
GRANT ALL ON visits TO public
EXPLAIN ANALYZE SELECT COUNT(*) FROM visits
EXPLAIN DELETE FROM visits
EXPLAIN EXPLAIN SELECT COUNT(*) FROM visits
FROM visits
FROM visits SELECT COUNT(*)
VALUES (1)
TABLE visits
PREPARE q AS SELECT COUNT(*) FROM visits
EXECUTE q
SELECT COUNT(*) FROM visits; DROP TABLE visits
SELECT COUNT(*) FROM visits; SELECT * FROM visits
; SELECT COUNT(*) FROM visits; SELECT 1
SELECT COUNT(*) FROM visits FOR UPDATE
SELECT COUNT(*) FROM visits /* */ ; /* */ SELECT 1
"""
_FUNCTIONS = """
SELECT COUNT(*) FROM visits WHERE random() < 0.5
SELECT COUNT(*) FROM visits WHERE day < CURRENT_DATE
SELECT COUNT(*) FROM visits WHERE seen_at < now()
SELECT COUNT(*) FROM visits WHERE seen_at < CURRENT_TIMESTAMP
SELECT AVG(CLAMP(my_function(age), 0, 1)) FROM visits
SELECT COUNT(*) FROM visits WHERE getenv('HOME') = 'x'
SELECT COUNT(*) FROM visits WHERE current_setting('threads') = '1'
SELECT COUNT(*) FROM visits WHERE error('stop') IS NULL
SELECT COUNT(*) FROM visits WHERE CASE WHEN cost > 1900 THEN error('rich') END IS NULL
SELECT COUNT(*) FROM visits WHERE sleep(1000) IS NULL
SELECT COUNT(*) FROM visits WHERE nextval('s') > 1
SELECT COUNT(*) FROM visits WHERE getvariable('x') > 1
SELECT COUNT(*) FROM visits WHERE regexp_matches(note, '(a+)+$')
SELECT COUNT(*) FROM visits WHERE repeat(note, 1000000000) = 'x'
SELECT COUNT(*) FROM visits WHERE lpad(note, 1000000000, 'x') = 'x'
SELECT COUNT(*) FROM visits WHERE note > 3
SELECT COUNT(*) FROM visits WHERE note::INTEGER[] IS NULL
SELECT COUNT(*) FROM visits WHERE strptime(note, '%Y') > seen_at
SELECT COUNT(*) FROM visits WHERE age = $1
SELECT COUNT(*) FROM visits WHERE age = ?
SELECT COUNT(*) FROM visits WHERE age = :x
SELECT COUNT(*) FROM visits WHERE age = @x
SELECT COUNT(*) FROM visits WHERE note LIKE ward
SELECT COUNT(*) FROM visits WHERE note LIKE 'a!%' ESCAPE '!'
SELECT COUNT(*) FROM visits WHERE list_sum([age]) > 3
SELECT COUNT(*) FROM visits WHERE (lambda x: x + 1)(age) > 3
SELECT COUNT(*) FROM visits WHERE hash(note) = 5
SELECT COUNT(*) FROM visits WHERE md5(note) = 'x'
SELECT COUNT(*) FROM visits WHERE pow(age, cost) > 3
SELECT COUNT(*) FROM visits WHERE day + INTERVAL (age) DAY > day
SELECT COUNT(*) FROM visits WHERE note COLLATE NOCASE = 'x'
SELECT COUNT(*) FROM visits WHERE 1 = 1
SELECT COUNT(*) FROM visits WHERE (age, cost) IN ((1, 2))
SELECT COUNT(*) FROM visits WHERE struct_pack(a := age).a > 1
SELECT COUNT(*) FROM visits WHERE note[1] = 'a'
SELECT COUNT(*) FROM visits WHERE json_extract(note, '$') IS NULL
"""
_SIGNS = """
SELECT /*+ FULL(visits) */ COUNT(*) FROM visits
SELECT COUNT(*) /*! FROM secrets */ FROM visits
SELECT COUNT(*) FROM visits --+ use index
SELECT COUNT(*) FROM v\u0456sits
SELECT COUNT(*) FROM \uff56isits
SELECT COUNT(*) FROM visits WHERE \u0430ge > 3
SELECT COUNT(*) FROM visits WHERE ag\u0435 > 3
SELECT COUNT(*) FROM visits WHERE \uff41\uff47\uff45 > 3
SELECT COUNT(*) FROM visits WHERE age\u200b > 3
SELECT COUNT(*) FROM visits\u202e WHERE age > 3
SELECT COUNT(*) FROM vi\u017fits
SELECT COUNT(*) FROM visits WHERE "age " > 3
SELECT COUNT(*) FROM "visits "
SELECT COUNT(*) FROM visits WHERE "" > 3
SELECT COUNT(*) FROM visits WHERE age > 3 \x00
SELECT COUNT(*) FROM visits WHERE age > 'x' OR 'a' = 'a'
SELECT COUNT(*) FROM visits WHERE 'a' = 'a
SELECT COUNT(*) FROM visits WHERE age > 3)
SELECT COUNT(* FROM visits
SELEC COUNT(*) FROM visits
SELECT COUNT(*) AS n, AVG(age) AS N FROM visits
SELECT COUNT(*) AS n, AVG(age) AS n_low FROM visits
SELECT COUNT(*) AS "a.b" FROM visits
SELECT COUNT(*) FROM visits WITH (NOLOCK)
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 100, delta = 0.5) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_groups_contributed = 100) ward, COUNT(*) FROM visits GROUP BY ward
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column = ward) COUNT(*) FROM visits
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, seed = 7) COUNT(*) FROM visits
SELECT SUM(cost, contribution_bounds_per_group => (0, 1000000)) FROM visits
SELECT hush_bounds_per_group(COUNT(*), 0, (SELECT 5)) FROM visits
"""

HOSTILE = [
    line
    for block in (_ROWS, _OTHER_ROWS, _PLACES, _CHANGES, _FUNCTIONS, _SIGNS)
    for line in block.strip("\n").split("\n")
]
