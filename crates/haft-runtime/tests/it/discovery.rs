//! Finding tools as one caller: what is hidden leaves no trace, what is new is found, what was
//! worked out once is kept.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_core::{Source, ToolSpec};
use haft_runtime::{IndexStore, Scope, Search, Session, Whereabouts};
use haft_testkit::{House, catalogue, repeating};
use proptest::prelude::*;

const QUERIES: &[&str] = &[
    "order a ride to the airport",
    "what is the weather in Hanoi",
    "quel temps fait-il",
    "ChaFod",
    "转账",
    "temp",
    "BFCL4",
    "bfcl5",
];

fn house_with(specs: impl IntoIterator<Item = ToolSpec>) -> House {
    let house = House::builder().build();
    let tools = specs.into_iter().map(repeating);
    house.runtime.registry().register_all(tools).unwrap();
    house
}

fn told(search: &Search) -> String {
    let hits = search.hits.iter().map(|hit| {
        let parts = format!("{:?}", hit.parts);
        format!(
            "{} {:x} {parts}",
            hit.entry.spec().name,
            hit.score.to_bits()
        )
    });
    let hits: Vec<String> = hits.collect();
    format!(
        "{hits:?} {} {:?} {:x}",
        search.nothing_fits,
        search.categories,
        search.coverage.to_bits()
    )
}

fn answers(house: &House, session: &Session) -> Vec<String> {
    let ask = |query: &&str| told(&house.runtime.search(session, query, 30));
    QUERIES.iter().map(ask).collect()
}

fn names(search: &Search) -> Vec<String> {
    let hits = search.hits.iter();
    hits.map(|hit| hit.entry.spec().name.to_string()).collect()
}

/// The same tool on another server.
fn twin(spec: &ToolSpec) -> ToolSpec {
    let name = format!("mcp.twin.{}", spec.action());
    let schema = spec.input_schema.clone();
    let mut twin = ToolSpec::new(name, spec.description.clone(), schema);
    twin.source = Source::Mcp("twin".into());
    twin
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn denied_tools_leave_no_trace(seen in prop::collection::vec(any::<bool>(), 80)) {
        let mut specs: Vec<ToolSpec> = catalogue("bfcl").into_iter().take(75).collect();
        // Two servers with the same tools: which of them an action leads to depends on both.
        let twins: Vec<ToolSpec> = specs[..5].iter().map(twin).collect();
        specs.extend(twins);
        let denied: Vec<String> = specs.iter().zip(&seen)
            .filter(|(_, seen)| !**seen).map(|(spec, _)| spec.name.to_string()).collect();
        let allowed = specs.iter().zip(&seen).filter(|(_, seen)| **seen).map(|(spec, _)| spec.clone());
        let never_held = house_with(allowed);
        let by_policy = House::builder().policy(|policy| policy.tools.deny = denied.clone()).build();
        by_policy.runtime.registry().register_all(specs.iter().cloned().map(repeating)).unwrap();
        let by_scope = house_with(specs);
        let scoped = by_scope.session("s").scoped(Scope { allowed: None, denied });
        let want = answers(&never_held, &never_held.session("s"));
        prop_assert_eq!(&answers(&by_policy, &by_policy.session("s")), &want);
        prop_assert_eq!(&answers(&by_scope, &scoped), &want);
    }
}

#[test]
fn the_owner_learns_why_a_tool_was_not_found() {
    let mut specs: Vec<ToolSpec> = catalogue("bfcl").into_iter().take(60).collect();
    specs[7].reword(|words| words.input_schema = serde_json::json!({"type": 5}));
    let (denied, quarantined) = (specs[3].name.to_string(), specs[7].name.to_string());
    let house = House::builder()
        .policy(|policy| policy.tools.deny = vec![denied.clone()])
        .build();
    let tools = specs.iter().cloned().map(repeating);
    house.runtime.registry().register_all(tools).unwrap();
    let session = house.session("s");
    let why = |name: &str| house.runtime.whereabouts(&session, QUERIES[0], name);
    assert!(matches!(why(&denied), Whereabouts::Denied { reason, .. } if reason.contains("deny")));
    assert!(matches!(why(&quarantined), Whereabouts::Quarantined { .. }));
    assert!(matches!(
        why("test.online"),
        Whereabouts::Unavailable { .. }
    ));
    assert!(matches!(why("ONLINE"), Whereabouts::Unavailable { .. }));
    assert_eq!(why("no.such"), Whereabouts::Unknown);
    let ranks: Vec<usize> = specs
        .iter()
        .filter_map(|spec| match why(&spec.name) {
            Whereabouts::Ranked { rank, .. } => Some(rank),
            _ => None,
        })
        .collect();
    assert_eq!(ranks.len(), 58);
    assert!(ranks.contains(&1) && ranks.iter().all(|rank| *rank <= 67));
    let found = names(&house.runtime.search(&session, "are you online", 30));
    assert!(!found.contains(&"test.online".to_owned()), "{found:?}");
}

#[test]
fn new_tools_are_found_and_changed_ones_too() {
    let house = house_with(catalogue("bfcl").into_iter().take(50));
    let session = house.session("s");
    let first = |query: &str| names(&house.runtime.search(&session, query, 3))[0].clone();
    let whale = |text: &str| {
        let mut spec = ToolSpec::new("mcp.sea.tool", text, serde_json::json!({"type": "object"}));
        spec.source = Source::Mcp("sea".into());
        repeating(spec)
    };
    let registry = house.runtime.registry();
    registry
        .register(whale("Sing the song of a whale"), None)
        .unwrap();
    assert_eq!(first("whale song"), "mcp.sea.tool");
    registry
        .replace(whale("Repair a broken bicycle"), None)
        .unwrap();
    assert_ne!(first("whale song"), "mcp.sea.tool");
    assert_eq!(first("my bike needs repair"), "mcp.sea.tool");
    registry.unregister("mcp.sea.tool").unwrap();
    assert_ne!(first("my bike needs repair"), "mcp.sea.tool");
}

/// A store in memory that counts how often it was asked.
#[derive(Default)]
struct Shelf {
    bytes: Mutex<Option<Vec<u8>>>,
    loads: AtomicUsize,
    saves: AtomicUsize,
}

fn store(shelf: &Arc<Shelf>) -> IndexStore {
    let (from, to) = (shelf.clone(), shelf.clone());
    IndexStore {
        load: Box::new(move || {
            from.loads.fetch_add(1, Ordering::SeqCst);
            from.bytes.lock().unwrap().clone()
        }),
        save: Box::new(move |bytes| {
            to.saves.fetch_add(1, Ordering::SeqCst);
            *to.bytes.lock().unwrap() = Some(bytes.to_vec());
        }),
    }
}

#[test]
fn what_was_worked_out_is_kept_between_runs() {
    let shelf = Arc::new(Shelf::default());
    let ask = |take: usize| {
        let house = House::builder().index(store(&shelf)).build();
        let specs = catalogue("bfcl").into_iter().take(take);
        let tools = specs.map(repeating);
        house.runtime.registry().register_all(tools).unwrap();
        let session = house.session("s");
        assert_eq!(answers(&house, &session), answers(&house, &session));
        let fresh = house_with(catalogue("bfcl").into_iter().take(take));
        assert_eq!(
            answers(&house, &session),
            answers(&fresh, &fresh.session("s"))
        );
        (
            shelf.loads.load(Ordering::SeqCst),
            shelf.saves.load(Ordering::SeqCst),
        )
    };
    assert_eq!(ask(40), (1, 1));
    assert_eq!(ask(40), (2, 1), "nothing was new");
    assert_eq!(ask(60), (3, 2));
    assert_eq!(ask(40), (4, 2), "the others stay for the next time, unseen");
    shelf.bytes.lock().unwrap().as_mut().unwrap()[200] ^= 1;
    assert_eq!(ask(40), (5, 3), "damaged bytes are made anew");
}

#[test]
fn a_server_may_change_its_list_while_it_is_searched() {
    let house = Arc::new(house_with(catalogue("bfcl").into_iter().take(30)));
    let more: Vec<ToolSpec> = catalogue("bfcl").into_iter().skip(30).take(120).collect();
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let session = house.session("s");
                for query in QUERIES.iter().cycle().take(120) {
                    let found = names(&house.runtime.search(&session, query, 5));
                    assert_eq!(found.len(), 5, "{query}");
                }
            });
        }
        threads.spawn(|| {
            for spec in &more {
                let registry = house.runtime.registry();
                registry.register(repeating(spec.clone()), None).unwrap();
                if spec.name.len() % 2 == 0 {
                    registry.unregister(&spec.name).unwrap();
                }
            }
        });
    });
    let kept = more.iter().filter(|spec| spec.name.len() % 2 != 0).count();
    let session = house.session("s");
    let all = house.runtime.categories(&session);
    let bfcl = all
        .iter()
        .find(|category| category.id == "mcp.bfcl")
        .unwrap();
    assert_eq!(bfcl.tool_count, 30 + kept);
}
