//! `haft tools search` and `haft tools categories`: finding tools among many.

use anyhow::Result;
use haft_runtime::{Search, SearchHit, Whereabouts, visible};
use serde::Serialize;
use serde_json::{Value, json};

use super::tools::first_sentence;
use crate::terminal::{print, show, table};
use crate::wiring::House;

/// How results are shown.
pub(super) struct Manner {
    pub(super) limit: usize,
    pub(super) json: bool,
    pub(super) explain: bool,
}

pub(super) fn search(house: &House, query: &str, manner: &Manner, why: Option<&str>) -> Result<u8> {
    let search = house.runtime.search(&house.session, query, manner.limit);
    let why = why.map(|name| house.runtime.whereabouts(&house.session, query, name));
    if manner.json {
        show::json(&as_json(&search, manner.explain, why.as_ref()))?;
        return Ok(0);
    }
    if search.nothing_fits {
        print::line("nothing fits");
        let near: Vec<String> = names(&search).iter().map(|name| visible(name)).collect();
        if !near.is_empty() {
            print::line(&format!("nearest categories: {}", near.join(", ")));
        }
    }
    let shown = search
        .hits
        .iter()
        .filter(|_| !search.nothing_fits || manner.explain);
    if manner.explain {
        table::print(
            &[
                "tool", "score", "exact", "keywords", "share", "vector", "head", "clause", "query",
                "tool", "name",
            ],
            shown.map(explained),
        );
        print::line(&format!("words known: {:.2}", search.coverage));
    } else {
        table::print(&["tool", "score", "what it does"], shown.map(row));
    }
    if let Some(why) = &why {
        print::line(&visible(&told(why)));
    }
    Ok(0)
}

pub(super) fn categories(house: &House, as_json: bool) -> Result<u8> {
    let categories = house.runtime.categories(&house.session);
    if as_json {
        show::json(&categories)?;
        return Ok(0);
    }
    let rows = categories.into_iter().map(|category| {
        vec![
            visible(&category.id),
            category.tool_count.to_string(),
            category.summary,
        ]
    });
    table::print(&["category", "tools", "what it is about"], rows);
    Ok(0)
}

fn names(search: &Search) -> Vec<&str> {
    let categories = search.categories.iter();
    categories.map(|(name, _)| name.as_str()).collect()
}

#[derive(Serialize)]
struct Parts {
    exact: bool,
    keywords: f32,
    share: f32,
    vector: f32,
    head: f32,
    clause: f32,
    query_side: f32,
    tool_side: f32,
    name: f32,
}

fn as_json(search: &Search, explain: bool, why: Option<&Whereabouts>) -> Value {
    let hits = |wanted: bool| -> Vec<Value> {
        let hits = search.hits.iter().filter(|_| wanted);
        hits.map(|hit| one(hit, explain)).collect()
    };
    let mut value = json!({
        "results": hits(!search.nothing_fits),
        "nothing_fits": search.nothing_fits,
        "categories": names(search),
    });
    if explain {
        value["coverage"] = search.coverage.into();
        value["nearest"] = hits(search.nothing_fits).into();
    }
    if let Some(why) = why {
        value["why"] = json!(why);
    }
    value
}

fn one(hit: &SearchHit, explain: bool) -> Value {
    let spec = hit.entry.spec();
    let mut value = json!({
        "name": spec.name,
        "score": hit.score,
        "description": spec.description,
        "category": spec.module,
        "risk": spec.risk,
        "source": hit.entry.source().to_string(),
    });
    if explain {
        let parts = &hit.parts;
        value["parts"] = json!(Parts {
            exact: parts.exact,
            keywords: parts.keywords,
            share: parts.share,
            vector: parts.vector,
            head: parts.head,
            clause: parts.clause,
            query_side: parts.query_side,
            tool_side: parts.tool_side,
            name: parts.name,
        });
    }
    value
}

fn row(hit: &SearchHit) -> Vec<String> {
    let spec = hit.entry.spec();
    vec![
        visible(&spec.name),
        format!("{:.2}", hit.score),
        visible(&first_sentence(&spec.description)),
    ]
}

fn explained(hit: &SearchHit) -> Vec<String> {
    let parts = &hit.parts;
    let exact = if parts.exact { "yes" } else { "" };
    let mut row = vec![
        visible(&hit.entry.spec().name),
        format!("{:.2}", hit.score),
        exact.to_owned(),
    ];
    let numbers = [
        parts.keywords,
        parts.share,
        parts.vector,
        parts.head,
        parts.clause,
        parts.query_side,
        parts.tool_side,
        parts.name,
    ];
    row.extend(numbers.iter().map(|number| format!("{number:.2}")));
    row
}

fn told(why: &Whereabouts) -> String {
    match why {
        Whereabouts::Unknown => "why: no tool answers to this name".to_owned(),
        Whereabouts::Quarantined { reason } => format!("why: it is quarantined: {reason}"),
        Whereabouts::Outside { reason, .. } => format!("why: {reason}"),
        Whereabouts::Denied { tool, reason } => format!("why: `{tool}` is denied: {reason}"),
        Whereabouts::Unavailable { tool, reason } => {
            format!("why: `{tool}` is not currently available: {reason}")
        }
        Whereabouts::Meta { tool } => {
            format!("why: `{tool}` is a tool about tools: it is shown, not searched for")
        }
        Whereabouts::Ranked {
            tool,
            rank,
            nothing_fits: true,
        } => format!("why: `{tool}` is number {rank}, and nothing fits well enough"),
        Whereabouts::Ranked { tool, rank, .. } => format!("why: `{tool}` is number {rank}"),
    }
}
