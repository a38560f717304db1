#!/usr/bin/env python3
"""Makes the dashboard of docs/grafana/l4.json in Apache Superset, so that its pages can be looked at.

Grafana is in no package registry; Superset is (pip install apache-superset psycopg2-binary requests). Each panel
becomes a virtual dataset and a chart, with the macros and variables replaced as Grafana does it:

    test/superset.py http://127.0.0.1:8088 admin PASSWORD postgresql+psycopg2://reader@127.0.0.1/db JOB FROM TO

The last line printed is the dashboard's address. Exit status 1: a request failed, and is printed.
"""
import json
import pathlib
import re
import sys

import requests

DASHBOARD = pathlib.Path(__file__).resolve().parent.parent / "docs" / "grafana" / "l4.json"
NODES = "SELECT node FROM l4.job_node WHERE job_id = "


class Superset:
    """The REST interface, logged in."""

    def __init__(self, server, user, password):
        self.api = server + "/api/v1"
        self.session = requests.Session()
        login = {"username": user, "password": password, "provider": "db"}
        self.session.headers["Authorization"] = "Bearer " + self.call("post", "/security/login", login)["access_token"]

    def call(self, verb, path, body=None):
        answer = self.session.request(verb, self.api + path, json=body, timeout=120)
        if answer.status_code >= 300:
            sys.exit(f"{verb} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json()


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def expand(sql, job, begin, end):
    """The query of a panel as Grafana would send it; all nodes of the job are chosen."""
    begin, end = quote(begin) + "::timestamptz", quote(end) + "::timestamptz"
    sql = sql.replace("${job:sqlstring}", quote(job)).replace("${node:sqlstring}", NODES + quote(job))
    sql = sql.replace("$__interval_ms", "5000").replace("$__timeFrom()", begin).replace("$__timeTo()", end)
    return re.sub(r"\$__timeFilter\(([^)]*)\)", rf"\1 BETWEEN {begin} AND {end}", sql)


def chart_of(panel, columns):
    """The form of a chart: lines and bars over time, else a table."""
    if panel["type"] in ("timeseries", "barchart") and "time" in columns:
        value = next(c for c in columns if c not in ("time", "metric"))
        metric = {"expressionType": "SIMPLE", "column": {"column_name": value}, "aggregate": "SUM", "label": value}
        kind = "echarts_timeseries_bar" if panel["type"] == "barchart" else "echarts_timeseries_line"
        return {"viz_type": kind, "x_axis": "time", "metrics": [metric], "groupby": ["metric"], "row_limit": 10000}
    return {"viz_type": "table", "query_mode": "raw", "all_columns": columns, "row_limit": 500, "order_by_cols": []}


def main():
    server, user, password, uri, job, begin, end = sys.argv[1:]
    superset = Superset(server, user, password)
    database = superset.call("post", "/database/", {"database_name": "l4", "sqlalchemy_uri": uri})["id"]
    source = json.loads(DASHBOARD.read_text())
    dashboard = superset.call("post", "/dashboard/", {"dashboard_title": source["title"], "published": True})["id"]
    grid = {"type": "GRID", "id": "GRID_ID", "children": []}
    layout = {"DASHBOARD_VERSION_KEY": "v2", "GRID_ID": grid,
              "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]}}
    for panel in source["panels"]:
        if not panel.get("targets"):
            continue
        title, place = panel["title"], panel["gridPos"]
        sql = expand(panel["targets"][0]["rawSql"], job, begin, end)
        dataset = superset.call("post", "/dataset/", {"database": database, "table_name": title, "sql": sql})["id"]
        columns = [c["column_name"] for c in superset.call("get", f"/dataset/{dataset}")["result"]["columns"]]
        form = chart_of(panel, columns) | {"datasource": f"{dataset}__table"}
        chart = superset.call("post", "/chart/", {
            "slice_name": title, "datasource_id": dataset, "datasource_type": "table", "viz_type": form["viz_type"],
            "params": json.dumps(form), "dashboards": [dashboard]})["id"]
        row = f"ROW-{place['y']}"
        if row not in layout:
            layout[row] = {"type": "ROW", "id": row, "children": [], "meta": {"background": "BACKGROUND_TRANSPARENT"}}
            grid["children"].append(row)
        layout[row]["children"].append(f"CHART-{chart}")
        layout[f"CHART-{chart}"] = {"type": "CHART", "id": f"CHART-{chart}", "children": [], "meta": {
            "chartId": chart, "width": place["w"] // 2, "height": place["h"] * 5, "sliceName": title}}
    superset.call("put", f"/dashboard/{dashboard}", {"position_json": json.dumps(layout)})
    print(f"{server}/superset/dashboard/{dashboard}/?standalone=1")


if __name__ == "__main__":
    main()
