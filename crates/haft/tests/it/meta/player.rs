//! A stand-in for a model: it sees what a model would be shown, knows the task's sentence, and
//! takes every name and parameter from answers it got. It finds, inspects and calls a tool among
//! 2,000 through the tools about tools alone.

use haft_runtime::{Injection, InjectionMode, Session, Shape};
use haft_testkit::{House, Random, Task, catalogue, repeating, tasks};
use serde_json::{Map, Value, json};

use super::{answer, call, furnished};

const TOOLS: usize = 2_000;
const TASKS: usize = 50;
const WINDOW: u64 = 32_000;
/// Tasks that must end with the right tool called.
const ENOUGH: usize = 40;

/// How tools are put in order when they are searched for.
enum Ranking {
    Ours,
    /// Any tools, whatever was asked
    Random(Random, Vec<Value>),
}

#[derive(Debug, Default)]
struct Score {
    right: usize,
    calls: usize,
    tokens: usize,
}

fn tokens(text: &str) -> usize {
    text.chars().count() / 4
}

struct Player<'a> {
    house: &'a House,
    session: Session,
    score: Score,
}

impl Player<'_> {
    /// The names of what is shown now.
    fn shown(&self) -> Vec<String> {
        let json = self
            .session
            .definitions(&self.house.runtime, Shape::OpenAi)
            .json();
        let list: Vec<Value> = serde_json::from_str(&json).unwrap();
        let names = list
            .iter()
            .map(|one| one["function"]["name"].as_str().unwrap().to_owned());
        names.collect()
    }

    async fn call(&mut self, name: &str, args: Value) -> Value {
        assert!(
            self.shown().contains(&name.to_owned()),
            "{name} is not shown"
        );
        self.score.calls += 1;
        self.score.tokens += tokens(&args.to_string());
        let outcome = call(self.house, &self.session, name, args).await;
        self.score.tokens += tokens(&outcome.text());
        answer(&outcome).clone()
    }

    async fn play(&mut self, task: &Task, ranking: &mut Ranking) {
        let sentence: String = task.query.chars().take(500).collect();
        let mut found = self.call("search_tools", json!({"query": sentence})).await;
        if let Ranking::Random(random, all) = ranking {
            let any = (0..5).map(|_| all[random.below(all.len() as u64) as usize].clone());
            found["tools"] = any.collect();
        }
        let Some(first) = found["tools"][0]["name"].as_str() else {
            return;
        };
        let known = self.call("get_tool", json!({"name": first})).await;
        let mut params = Map::new();
        for name in known["parameters"]["required"].as_array().unwrap() {
            params.insert(name.as_str().unwrap().to_owned(), sentence.as_str().into());
        }
        let args = json!({"name": known["name"], "params": params});
        let done = self.call("execute_tool", args).await;
        if task
            .tools
            .iter()
            .any(|tool| done["data"]["tool"] == tool.as_str())
        {
            self.score.right += 1;
        }
    }
}

async fn score(mut ranking: Ranking) -> (Score, u64, usize) {
    let house = furnished(House::builder());
    let specs: Vec<_> = catalogue("sealtools").into_iter().take(TOOLS).collect();
    let names: Vec<String> = specs.iter().map(|spec| spec.name.to_string()).collect();
    let tools = specs.into_iter().map(repeating);
    house.runtime.registry().register_all(tools).unwrap();
    let chosen: Vec<Task> = tasks("sealtools")
        .into_iter()
        .filter(|task| matches!(task.tools.as_slice(), [only] if names.contains(only)))
        .take(TASKS)
        .collect();
    assert_eq!(chosen.len(), TASKS);
    let injection = Injection {
        context_window: Some(WINDOW),
        ..Injection::default()
    };
    let mut total = Score::default();
    let mut start = 0;
    let mut direct = 0;
    for task in &chosen {
        let session = house.session_with("s", injection.clone());
        let decision = session.decision(&house.runtime);
        assert_eq!(decision.mode, InjectionMode::Discovery);
        direct = decision.tool_tokens;
        let mut player = Player {
            house: &house,
            session,
            score: Score::default(),
        };
        assert!(player.shown().iter().all(|name| !name.starts_with("mcp__")));
        let shown = player
            .session
            .definitions(&house.runtime, Shape::OpenAi)
            .json();
        start = tokens(&shown);
        player.play(task, &mut ranking).await;
        total.right += player.score.right;
        total.calls += player.score.calls;
        total.tokens += player.score.tokens;
    }
    (total, direct, start)
}

#[tokio::test]
async fn fifty_tasks_among_two_thousand_tools() {
    let (ours, direct, start) = score(Ranking::Ours).await;
    println!(
        "discovery: {} of {TASKS} right, {:.1} calls and {} tokens a task besides {start} of \
         definitions; direct: 1 call, {direct} tokens of definitions in a window of {WINDOW}",
        ours.right,
        ours.calls as f64 / TASKS as f64,
        ours.tokens / TASKS,
    );
    assert!(ours.right >= ENOUGH, "{ours:?}");
    assert!(start + ours.tokens / TASKS < WINDOW as usize, "{ours:?}");
    assert!(direct > WINDOW, "direct mode would not even fit");
}

/// The same player with tools in any order: it must fail, or it proves nothing.
#[tokio::test]
async fn with_random_ranking_the_player_fails() {
    let specs = catalogue("sealtools").into_iter().take(TOOLS);
    let all = specs.map(|spec| json!({"name": spec.name})).collect();
    let (random, _, _) = score(Ranking::Random(Random::seeded(7), all)).await;
    assert!(random.right < ENOUGH / 4, "{random:?}");
}
