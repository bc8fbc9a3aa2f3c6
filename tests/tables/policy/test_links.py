"""Tables that find their people by a key (`via`): in a policy file, in Python and in SQL."""

# ruff: noqa: E501  (statements and lines of a policy are kept on one line)
from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import hush
from hush.cli import main
from hush.errors import InvalidParameter
from hush.tables import ColumnRule, Policy, TableRule, Via, count, sum
from hush.tables.sql import Refused, statement

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Ibis 12 on DuckDB 2

SALT = b"0123456789abcdef"
#: order 2 belongs to two people; order 9 does not exist
ORDERS = pa.table(
    {"customer": ["ann", "bob", "cid", "ann", "dan"], "order_id": [1, 2, 2, 3, 4], "shop": ["x", "y", "y", "x", "y"]}
)
LINES = pa.table(
    {"order": [1, 1, 2, 3, 9, 4], "line": [10, 11, 12, 13, 14, 15], "price": [2.0, 4.0, 100.0, 1.0, 100.0, 8.0]}
)
PARTS = pa.table({"line": [10, 12, 15, 15], "weight": [1, 50, 2, 3]})
TEXT = """
[tables.orders]
source = "orders.csv"
unit = "customer"
groups_per_unit = 2
rows_per_unit = 3
ledger = "budget.ledger"
max_epsilon = 2.0

[tables.orders.columns]
order_id = {}
shop = { values = ["x", "y"] }

[tables.lines]
source = "lines.csv"
groups_per_unit = 2
rows_per_unit = 5
max_epsilon = 3.0
via = { table = "orders", column = "order", key = "order_id" }

[tables.lines.columns]
order = {}
line = {}
price = { low = 0, high = 200 }

[tables.parts]
source = "parts.csv"
via = { table = "lines", column = "line" }
groups_per_unit = 1
rows_per_unit = 5
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in (("orders", ORDERS), ("lines", LINES), ("parts", PARTS)):
        pyarrow.csv.write_csv(rows, tmp_path / f"{name}.csv")
    (tmp_path / "hush.toml").write_text(TEXT)
    hush.Ledger(tmp_path / "budget.ledger", epsilon=9.0, delta=1e-3).close()
    return tmp_path


def integers(query):
    return query.aggregates(salt=SALT).to_arrow().to_pydict()


def test_the_way_to_the_person_is_followed(folder):
    """Lines of order 2, which has two customers, and of no order are left out; so are their parts."""
    policy = Policy.read(folder / "hush.toml")
    assert Policy.mistakes_of(folder / "hush.toml") == []
    lines, orders, parts = (policy.open(name) for name in ("lines", "orders", "parts"))
    step = lines.aggregate(s=sum("price", rows_per_unit=5)).sensitivity.linf["s"] // 1000  # five rows of at most 200
    assert integers(lines.aggregate(n=count(), s=sum("price", rows_per_unit=5))) == {"n": [4], "s": [15 * step]}
    assert integers(parts.aggregate(n=count())) == {"n": [3]}
    both = orders.join(lines, on={"order_id": "order"})
    assert {table.fingerprint for table in (lines, parts, both)} == {orders.fingerprint}
    assert "lines.csv belongs to the customer of the rows of file" in lines.belongs
    assert Policy(policy.tables, policy.folder).text() == policy.text()
    again = folder / "again.toml"
    again.write_text(policy.text())
    assert Policy.read(again) == policy


STATEMENTS = {
    "SELECT COUNT(*) AS n, COUNT(DISTINCT customer) AS c FROM lines": {"n": [4], "c": [2]},
    "SELECT shop, COUNT(*) AS n FROM orders o JOIN lines l ON o.order_id = l.order GROUP BY shop": {"shop": ["x", "y"], "n": [3, 1]},
    "SELECT shop, COUNT(l.price) AS n FROM orders o LEFT JOIN lines l ON l.order = o.order_id GROUP BY shop": {"shop": ["x", "y"], "n.count": [3, 1]},
    "SELECT o.shop, COUNT(*) AS n FROM lines AS l JOIN orders AS o ON l.order = o.order_id WHERE l.price > 3 GROUP BY 1": {"shop": ["x", "y"], "n": [1, 1]},
    "SELECT COUNT(*) AS n FROM parts JOIN lines USING (line) JOIN orders ON lines.order = orders.order_id WHERE shop = 'y'": {"n": [2]},
    "SELECT COUNT(*) AS n FROM (SELECT customer, COUNT(*) AS k FROM lines GROUP BY customer) AS p WHERE k > 2": {"n": [1]},
    "SELECT COUNT(*) AS n FROM (SELECT COUNT(*) OVER (PARTITION BY customer) AS k FROM lines) AS p WHERE k > 2": {"n": [3]},
}  # fmt: skip


def test_statements_about_linked_tables(folder):
    policy = Policy.read(folder / "hush.toml")
    for text, wanted in STATEMENTS.items():
        assert integers(statement(text, policy).query) == wanted, text
    with pytest.raises(Refused, match="rows of the same person"):
        statement("SELECT COUNT(*) FROM orders o JOIN lines l ON o.order_id = l.line", policy)
    plan = statement("EXPLAIN SELECT COUNT(*) AS n FROM lines", policy).plan(1.0, 0.0, family="laplace")
    assert "belongs to the customer of the rows of file" in " ".join(str(plan).split())


def test_the_ledger_and_the_limits_are_those_of_the_people(folder):
    policy = Policy.read(folder / "hush.toml")
    hush.sql("SELECT COUNT(*) AS n FROM lines", policy, epsilon=1.0, delta=0.0, family="laplace")
    hush.sql("SELECT COUNT(*) AS n FROM orders", policy, epsilon=1.0, delta=0.0, family="laplace")
    with hush.Ledger(folder / "budget.ledger") as ledger:
        assert len(ledger.entries) == 2
    with pytest.raises(InvalidParameter, match="at most 2 for one question"):
        hush.sql("SELECT COUNT(*) AS n FROM parts", policy, epsilon=2.5, delta=0.0, family="laplace")


MISTAKES = {
    ("via = { table = \"orders\"", "via = { table = \"ordres\""): "tables.lines.via.table: the policy has no table 'ordres'; did you mean 'orders'?",
    ("column = \"order\", key", "column = \"oder\", key"): "tables.lines.via.column: it names the column 'oder'",
    ("key = \"order_id\"", "key = \"order_nr\""): "tables.lines.via.key: it names the column 'order_nr'",
    ("key = \"order_id\"", "keys = \"order_id\""): "tables.lines.via.keys: is not a key of a policy; did you mean 'key'?",
    ("via = { table = \"lines\", column = \"line\" }", "via = \"lines\""): "tables.parts.via: must name a table and a column, got text",
    ("via = { table = \"lines\", column = \"line\" }", "via = { table = \"parts\", column = \"line\" }"): "tables.parts.via.table: leads back to 'parts'",
    ("via = { table = \"lines\", column = \"line\" }", "via = { table = \"lines\", column = 3 }"): "tables.parts.via.column: must be a name, got 3",
    ("via = { table = \"lines\"", "unit = \"line\"\nvia = { table = \"lines\""): "tables.parts.unit: is that of the table that via names",
    ("via = { table = \"lines\"", "ledger = \"b\"\nvia = { table = \"lines\""): "tables.parts.ledger: is that of the table that via names",
    ("via = { table = \"lines\"", "public = true\nvia = { table = \"lines\""): "tables.parts.via: a public table has no via",
    ("unit = \"customer\"\ngroups_per_unit = 2\nrows_per_unit = 3", "unit = \"row\""): "tables.lines.via.table: 'orders' has no unit of columns",
}  # fmt: skip


@pytest.mark.parametrize("change", MISTAKES)
def test_each_mistake_has_its_place(folder, change):
    assert TEXT.count(change[0]) == 1
    (folder / "hush.toml").write_text(TEXT.replace(*change))
    found = [str(mistake) for mistake in Policy.mistakes_of(folder / "hush.toml")]
    assert any(MISTAKES[change] in text for text in found), found
    with pytest.raises(InvalidParameter):
        Policy.read(folder / "hush.toml").open("parts")


def test_a_hidden_key_still_leads_to_the_person():
    """The key of the orders need not be a column that may be asked."""
    policy = Policy(
        {
            "orders": TableRule(ORDERS, unit="customer", groups_per_unit=1, columns={"shop": ColumnRule()}),
            "lines": TableRule(LINES, via=Via("orders", "order", "order_id"), groups_per_unit=1, columns={}),
        }
    )
    lines = policy.open("lines")
    assert lines.columns == () and integers(lines.aggregate(n=count(rows_per_unit=9))) == {"n": [4]}


HOSTILE = (
    "SELECT COUNT(*) FROM lines WHERE \".unit\" = 'ann'",
    'SELECT ".unit", COUNT(*) FROM lines GROUP BY 1',
    "SELECT customer, COUNT(*) FROM lines GROUP BY customer",
    "SELECT COUNT(*) FROM lines l JOIN orders o ON l.order = o.order_id AND o.customer = 'ann'",
    "SELECT COUNT(*) FROM lines l JOIN lines m ON l.line = m.line",
    "SELECT COUNT(*) FROM orders o JOIN lines l ON o.order_id >= l.order",
    "SELECT COUNT(*) OVER (PARTITION BY order) FROM lines",
    "SELECT AVG(CLAMP(n, 0, 9)) FROM (SELECT order, COUNT(*) AS n FROM lines GROUP BY order) AS t",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_key_of_the_person_stays_hidden(folder, text):
    with pytest.raises(Refused):
        statement(text, Policy.read(folder / "hush.toml"))


def test_the_command_line_says_whose_rows_they_are(folder, capsys):
    for command in ("check", "show"):
        assert main(["policy", command, str(folder / "hush.toml")]) == 0
        said = capsys.readouterr().out
        assert "each person of orders that order leads to" in said and said.count("budget.ledger") == 3
    text = "EXPLAIN SELECT COUNT(*) AS n FROM orders o JOIN lines l ON o.order_id = l.order"
    options = ["--policy", str(folder / "hush.toml"), "--epsilon", "1", "--delta", "0", "--family", "laplace"]
    assert main(["sql", text, *options]) == 0
    assert "belongs to the customer of the rows" in " ".join(capsys.readouterr().out.split())
