//! Batches whose effects conflict end as if the calls had run one after the other.

use std::collections::BTreeMap;

use haft_core::Call;
use haft_policy::Autonomy;
use haft_testkit::{House, Random};
use serde_json::{Value, json};

const BATCHES: u64 = 10_000;
const CELLS: u64 = 5;

fn random_call(random: &mut Random) -> Value {
    let mut some = |most: u64| -> Vec<u64> {
        let count = random.below(most + 1);
        (0..count).map(|_| random.below(CELLS)).collect()
    };
    let (reads, writes) = (some(2), some(2));
    json!({"reads": reads, "writes": writes, "salt": random.below(1_000), "pauses": random.below(4)})
}

/// What the tool does, one call after the other.
fn serially(calls: &[Value]) -> (BTreeMap<u64, u64>, Vec<u64>) {
    let mut cells: BTreeMap<u64, u64> = BTreeMap::new();
    let mut answers = Vec::new();
    let numbers = |value: &Value| -> Vec<u64> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n.as_u64().unwrap())
            .collect()
    };
    for call in calls {
        let (reads, writes) = (numbers(&call["reads"]), numbers(&call["writes"]));
        let mut sum = call["salt"].as_u64().unwrap();
        for number in reads.iter().chain(&writes) {
            sum = sum
                .wrapping_mul(31)
                .wrapping_add(cells.get(number).copied().unwrap_or(0));
        }
        for number in writes {
            cells.insert(number, sum);
        }
        answers.push(sum);
    }
    (cells, answers)
}

#[tokio::test]
async fn random_batches_end_as_the_serial_run_would() {
    let house = House::builder()
        .policy(|p| p.tools.autonomy = Some(Autonomy::Autonomous))
        .build();
    let session = house.session("s");
    for seed in 0..BATCHES {
        let mut random = Random::seeded(seed + 1);
        let count = 2 + random.below(7);
        let args: Vec<Value> = (0..count).map(|_| random_call(&mut random)).collect();
        let (cells, answers) = serially(&args);
        house.cells.0.lock().unwrap().clear();
        let calls = args
            .iter()
            .map(|args| Call::new("test.mix", args.clone()))
            .collect();
        let outcomes = house.runtime.execute_parallel(&session, calls).await;
        let said: Vec<u64> = outcomes.iter().map(|o| o.text().parse().unwrap()).collect();
        assert_eq!(said, answers, "seed {seed}: {args:?}");
        assert_eq!(
            *house.cells.0.lock().unwrap(),
            cells,
            "seed {seed}: {args:?}"
        );
    }
}
