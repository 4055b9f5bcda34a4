"""Random frames through random topologies: what comes out is what Spark itself would say."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.spark.transform import transform
from tests.spark import transforms

# Each with an expression of a number that gives a value of it, or null. Spark makes the rows: what it can hold is what
# has to pass.
TYPES = {
    "boolean": "n % 3 = 0",
    "tinyint": "cast(n % 100 - 50 AS tinyint)",
    "smallint": "cast(n - 500 AS smallint)",
    "int": "cast(-n * 7919 AS int)",
    "bigint": "(n % 100 - 50) * 92233720368547758",
    "float": "cast(array('NaN', '-0.0', '0.0', n / 3)[n % 4] AS float)",
    "double": "array(double('NaN'), -0.0D, 0.0D, double('infinity'), n / 7)[n % 5]",
    "string": "concat('wörd ', n % 5)",
    "binary": "cast(concat('b', n % 4) AS binary)",
    "date": "date_add(date'1969-12-30', cast(n * 400 AS int))",
    "timestamp": "timestamp_micros(n * 1234567890123)",
    "timestamp_ntz": "cast(timestamp_micros(n * 1234567890123) AS timestamp_ntz)",
    "decimal(10,3)": "cast((n - 40) / 7 AS decimal(10,3))",
    "decimal(38,18)": "cast((n - 40) / 7 AS decimal(38,18))",
    "interval day to second": "make_dt_interval(0, 0, 0, n * 1.5)",
    "array<string>": "transform(sequence(0, n % 3), i -> if(i = 1, null, concat('e', i)))",
    "array<double>": "array(array(double('NaN'), -0.0D, 0.0D, null)[n % 4], n % 2)",
    "array<array<int>>": "array(array(cast(n AS int)), array(), null)",
    "map<string,bigint>": "map_from_arrays(array('a', concat('k', n)), array(n, null))",
    "map<int,array<string>>": "map(cast(n AS int), array('x', null))",
    "map<struct<a:int,b:array<string>>,double>": (
        "map(named_struct('a', cast(n AS int), 'b', array('x', null)), n / 3, named_struct('a', null, 'b', null), null)"
    ),
    "map<array<int>,map<struct<a:int>,string>>": "map(array(1, cast(n AS int)), map(named_struct('a', 1), 'x'))",
    "struct<a:int,b:string>": "named_struct('a', cast(n % 9 AS int), 'b', concat('s', n % 9))",
    "struct<x:double,y:array<float>>": (
        "named_struct('x', array(double('NaN'), -0.0D, 0.0D)[n % 3], 'y', array(cast('NaN' AS float), null))"
    ),
    "struct<t:timestamp,m:map<string,date>>": (
        "named_struct('t', timestamp_micros(n * 1234567), 'm', map('d', date_add(date'2000-01-01', cast(n AS int))))"
    ),
}
KEYS = [name for name in TYPES if "map" not in name]


def frame(spark: Any, types: list[str], *, rows: int, partitions: int, nulls: int) -> Any:
    values = [
        f"if(pmod(n + {place}, {nulls}) = 0, null, cast({TYPES[kind]} AS {kind})) AS c{place}"
        for place, kind in enumerate(types)
    ]
    return spark.range(0, rows, 1, partitions).selectExpr("id AS n").selectExpr(*values)


def shown(rows: Any) -> Counter[str]:
    """Rows as Spark shows them: equal if and only if all values are."""
    # As JSON has them, the keys of a map are what Java calls the object, unless they are plain.
    columns = (f"cast({name} AS string) AS {name}" if "map<" in kind else name for name, kind in rows.dtypes)
    whole = rows.selectExpr(*columns).selectExpr("to_json(struct(*), map('ignoreNullFields', 'false'))")
    return Counter(row[0] for row in whole.collect())


def require_same(spark: Any, types: list[str], source: Any, *, workers: int, **how: Any) -> None:
    fields = tuple(source.columns)
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(fields, types, strict=True))
    topo = transforms.passing_on(fields, **how)
    out = transform(topo, {"rows": source}, output="second", schema=schema, workers=workers)
    assert out.schema == spark.createDataFrame([], schema).schema
    assert shown(out) == shown(source)


@pytest.mark.parametrize("batches", [False, True], ids=["tuples", "batches"])
def test_all_types_pass_unchanged(spark: Any, batches: bool) -> None:
    types = list(TYPES)
    source = frame(spark, types, rows=300, partitions=3, nulls=7)

    require_same(spark, types, source, workers=2, grouping="shuffle", batches=batches)


@pytest.mark.parametrize("zone", ["America/New_York", "UTC"])
def test_instants_stay_the_same_in_every_zone(spark: Any, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        types = ["timestamp", "timestamp_ntz"]
        source = frame(spark, types, rows=200, partitions=2, nulls=9)
        require_same(spark, types, source, workers=2, grouping="by")
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_random_frames_pass_unchanged(spark: Any, data: st.DataObject) -> None:
    types = data.draw(st.lists(st.sampled_from(list(TYPES)), max_size=4), "types")
    key = data.draw(st.sampled_from(KEYS), "key")
    rows = data.draw(st.integers(0, 400), "rows")
    source = frame(
        spark,
        [key, *types],
        rows=rows,
        partitions=data.draw(st.integers(1, 7), "partitions"),
        nulls=data.draw(st.integers(2, 20), "nulls"),
    )

    require_same(
        spark,
        [key, *types],
        source,
        workers=data.draw(st.integers(1, 4), "workers"),
        grouping=data.draw(st.sampled_from(transforms.GROUPINGS), "grouping"),
        tasks=data.draw(st.integers(1, 4), "tasks"),
        batches=data.draw(st.booleans(), "batches"),
    )


def require_counted_alike(source: Any, kind: str, *, tasks: int, workers: int) -> None:
    """What `by` groups is what Spark's own groupBy does."""
    topo, schema = transforms.counting(tasks), f"word {kind}, count long"
    out = transform(topo, {"words": source}, output="count", schema=schema, workers=workers)
    assert shown(out) == shown(source.groupBy("word").count())


@pytest.mark.parametrize("kind", ["double", "array<double>", "struct<x:double,y:array<float>>"])
def test_nan_is_one_key_and_so_is_zero(spark: Any, kind: str) -> None:
    source = frame(spark, [kind], rows=60, partitions=3, nulls=11).selectExpr("c0 AS word")

    require_counted_alike(source, kind, tasks=3, workers=2)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    key=st.sampled_from(KEYS),
    rows=st.integers(0, 1000),
    partitions=st.integers(1, 6),
    workers=st.integers(1, 4),
    tasks=st.integers(1, 5),
)
def test_keys_are_counted_as_spark_counts_them(
    spark: Any, key: str, rows: int, partitions: int, workers: int, tasks: int
) -> None:
    source = frame(spark, [key], rows=rows, partitions=partitions, nulls=11).selectExpr("c0 AS word")
    require_counted_alike(source, key, tasks=tasks, workers=workers)
