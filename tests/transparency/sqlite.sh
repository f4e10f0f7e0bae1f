# sqlite3: tables, indexes, aggregation, a file.
command -v sqlite3 >/dev/null || { echo "no sqlite3"; exit 77; }
$RUN sqlite3 t.db "create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<5000) insert into t select i, 'row' || (i*7919%1000), i/3.0 from n;
create index tb on t(b); select b, count(*), round(sum(c),2) from t group by b order by 2 desc, 1 limit 5;
select count(*) from t x join t y on x.b = y.b; update t set c = c * 2 where a % 3 = 0; select round(total(c),3) from t; pragma integrity_check;"
