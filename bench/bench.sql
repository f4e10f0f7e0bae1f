-- SQLite in memory: inserts, an index, joins, aggregates.
CREATE TABLE t(a INTEGER, b INTEGER, c TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
INSERT INTO t SELECT i, i * 7919 % 10007, 'row ' || (i % 977) FROM n;
CREATE INDEX t_b ON t(b);
SELECT count(*), sum(x.a) FROM t x JOIN t y ON x.b = y.b WHERE y.a < 40000;
SELECT c, count(*), avg(b) FROM t GROUP BY c ORDER BY 3 LIMIT 5;
SELECT count(DISTINCT substr(c, 5)), max(length(c)) FROM t;
