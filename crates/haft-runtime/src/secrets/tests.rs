//! The corpus with its shares, a table of hand-written cases, and the promises of the module.

use std::path::Path;

use serde_json::{Value, json};

use super::rules::{RULES, pattern};
use super::{PREFILTER, hide, mask, mask_value, scan};

fn rows(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/secrets")
        .join(file);
    let text = std::fs::read_to_string(path).expect("corpus is readable");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("row is JSON"))
        .collect()
}

fn field<'r>(row: &'r Value, name: &str) -> &'r str {
    row[name].as_str().unwrap_or_default()
}

/// Characters that look random and are the same in every run.
fn random(alphabet: &str, length: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        letters[(state >> 33) as usize % letters.len()]
    };
    (0..length).map(|_| next()).collect()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    let masked = mask(text);
    assert_eq!(masked.text, expected);
    assert_eq!(masked.count == 0, text == expected, "{text}");
    assert_eq!(
        mask(&masked.text).text,
        expected,
        "masking again changes nothing"
    );
}

#[test]
fn corpus_secrets_are_masked() {
    let rows = rows("positives.jsonl");
    let missed: Vec<&str> = rows
        .iter()
        .filter(|row| mask(field(row, "text")).text.contains(field(row, "secret")))
        .map(|row| field(row, "rule"))
        .collect();
    assert!(rows.len() > 300);
    assert!(
        missed.len() * 100 <= rows.len(),
        "over 1 % missed: {missed:?}"
    );
}

#[test]
fn corpus_look_alikes_are_left() {
    let rows = rows("negatives.jsonl");
    let masked: Vec<&str> = rows
        .iter()
        .map(|row| field(row, "text"))
        .filter(|text| mask(text).count > 0)
        .collect();
    assert!(rows.len() > 200);
    assert!(
        masked.len() * 50 <= rows.len(),
        "over 2 % masked: {masked:?}"
    );
}

#[test]
fn masking_again_finds_nothing_and_nothing_grows() {
    for row in rows("positives.jsonl")
        .iter()
        .chain(&rows("negatives.jsonl"))
    {
        let text = field(row, "text");
        let once = mask(text);
        assert_eq!(mask(&once.text).count, 0, "{text:?} became {:?}", once.text);
        assert!(once.text.len() <= text.len(), "{text:?}");
    }
}

#[test]
fn formats_outside_the_corpus_are_masked() {
    const HEX: &str = "0123456789abcdef";
    const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
    const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut missed = Vec::new();
    for seed in 1..=20 {
        let hex = |length| random(HEX, length, seed);
        let lower = |length| random(LOWER, length, seed);
        let mixed = |length| random(MIXED, length, seed);
        let tokens = [
            format!("ops_eyJ{}", mixed(300)),
            format!("p8e-{}", lower(32)),
            format!("pat{}.{}", mixed(14), hex(64)),
            format!("LTAI{}", lower(20)),
            format!("ATATT3{}", mixed(186)),
            format!(
                "sc_{}.{}.acc-{}.{}",
                lower(12),
                lower(5),
                lower(16),
                lower(60)
            ),
            format!("ABSK{}=", mixed(120)),
            format!("v1.0-{}-{}", hex(24), hex(146)),
            format!("dp.pt.{}", lower(43)),
            format!("sl.{}", mixed(135)),
            format!("duffel_live_{}", lower(43)),
            format!("dt0c01.{}.{}", lower(24), lower(64)),
            format!("EZAK{}", lower(54)),
            format!("EZTK{}", lower(54)),
            format!("{}|{}", random("123456789", 15, seed), lower(30)),
            format!("EAAC{}", mixed(120)),
            format!("FLWSECK_TEST-{}-X", hex(32)),
            format!("fio-u-{}", lower(64)),
            format!("s-s4t2ud-{}", hex(64)),
            format!("lin_api_{}", lower(40)),
            format!("pscale_tkn_{}", mixed(43)),
            format!("pscale_pw_{}", mixed(43)),
            format!("PMAK-{}-{}", hex(24), hex(34)),
            format!("SG.{}.{}", mixed(22), mixed(43)),
            format!("xkeysib-{}-{}", hex(64), lower(16)),
            format!(
                "xoxe.xoxp-1-{}",
                random("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", 165, seed)
            ),
            format!("hvb.{}", mixed(150)),
            format!("GOCSPX-{}", mixed(28)),
            format!("sk-proj-{}T3BlbkFJ{}", mixed(58), mixed(58)),
            format!("sk-or-v1-{}", hex(64)),
            format!("gsk_{}", mixed(52)),
            format!("dckr_pat_{}", mixed(27)),
            format!("tskey-auth-{}-{}", mixed(17), mixed(32)),
            format!("{}:AA{}", random("123456789", 10, seed), mixed(33)),
        ];
        missed.extend(tokens.into_iter().filter(|token| {
            mask(&format!("out: {token} ok"))
                .text
                .contains(token.as_str())
        }));
    }
    assert!(missed.len() <= 3, "more than 3 of 680: {missed:#?}");
}

#[test]
fn hand_written_cases() {
    check("plain text without anything", "plain text without anything");
    check(
        "token ghp_tHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0.",
        "token ***7uw0.",
    );
    check(
        r#""\nghp_tHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0""#,
        r#""\n***7uw0""#,
    );
    check(
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    );
    check("DB_PASSWORD=hunter2!", "DB_PASSWORD=***");
    check("password: ${DB_PASSWORD}", "password: ${DB_PASSWORD}");
    check("password = user.password", "password = user.password");
    check("pub password: *const u16,", "pub password: *const u16,");
    check("<password>tr0ub4dor</password>", "<password>***</password>");
    check(
        "machine h login me password s3cr3t-9 ",
        "machine h login me password *** ",
    );
    check(
        "run --api-key 9f8e7d6c5b4a3f2e1d0c now",
        "run --api-key ***1d0c now",
    );
    check(
        "postgres://app:w8-Qz@db:5432/x",
        "postgres://app:***@db:5432/x",
    );
    check(
        "postgres://user:password@db/x",
        "postgres://user:password@db/x",
    );
    check("curl -u me:Zq81-mmX4 https://h", "curl -u me:*** https://h");
    check(
        "curl -H 'X-Api-Key: 81kp8egq48o' h",
        "curl -H 'X-Api-Key: ***' h",
    );
    check(
        "Authorization: Basic bWU6WnE4MS1tbVg0",
        "Authorization: Basic ***bVg0",
    );
    check(
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer $TOKEN",
    );
    check(
        r#"{\"api_key\": \"81kp8egq48oXn7pa\"}"#,
        r#"{\"api_key\": \"***n7pa\"}"#,
    );
    check(
        "public key: Eep0pAsSa9lFUH6KT2UY9s1Z8v7voA",
        "public key: Eep0pAsSa9lFUH6KT2UY9s1Z8v7voA",
    );
    check(
        "cache_key = 9f8e7d6c5b4a3f2e1d0c",
        "cache_key = 9f8e7d6c5b4a3f2e1d0c",
    );
    check(
        "AccountKey=Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA==;",
        "AccountKey=***MA==;",
    );
    check(
        "пароль password=\"žluť9kůň\" конец",
        "пароль password=\"***\" конец",
    );
}

#[test]
fn blocks_keep_their_frame() {
    let body = random(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        200,
        7,
    );
    check(
        &format!("a\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nb"),
        "a\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nb",
    );
    check(
        &format!("-----BEGIN PRIVATE KEY-----\n{body}"),
        "-----BEGIN PRIVATE KEY-----***",
    );
    check(
        "kind: Secret\ndata:\n  user: bWUtYW5kLXlvdQ==\nmetadata:\n  name: my-app-name\n",
        "kind: Secret\ndata:\n  user: ***dQ==\nmetadata:\n  name: my-app-name\n",
    );
    check(
        r#"{"data": {"user": "bWUtYW5kLXlvdQ=="}, "kind": "Secret"}"#,
        r#"{"data": {"user": "***dQ=="}, "kind": "Secret"}"#,
    );
    check(
        "kind: Secret\ndata:\n  pw: {{ .Values.pw | b64enc }}\n",
        "kind: Secret\ndata:\n  pw: {{ .Values.pw | b64enc }}\n",
    );
}

#[test]
fn json_strings_and_telling_fields_are_masked() {
    let mut value = json!({
        "password": "letmein", "passwordHint": "my dog", "user": "me",
        "nested": [{"api_key": "81kp8egq48oXn7pa"}, "ghp_tHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0"],
        "token": "${TOKEN}", "token_type": "bearer-81kp8egq48o", "max_tokens": 4096,
    });
    assert_eq!(mask_value(&mut value), 3);
    let expected = json!({
        "password": "***", "passwordHint": "my dog", "user": "me",
        "nested": [{"api_key": "***n7pa"}, "***7uw0"],
        "token": "${TOKEN}", "token_type": "bearer-81kp8egq48o", "max_tokens": 4096,
    });
    assert_eq!(value, expected);
    assert_eq!(mask_value(&mut value), 0);
}

#[test]
fn names_of_fields_are_masked_and_none_is_lost() {
    let mut value = json!({"plain": {
        "ghp_tHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0": 1,
        "ghp_aHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0": 2,
    }});
    assert_eq!(mask_value(&mut value), 2);
    assert_eq!(value, json!({"plain": {"***7uw0": 1, "***7uw0*": 2}}));
}

#[test]
fn deep_json_does_not_exhaust_the_stack() {
    let mut value = json!("ghp_tHbA92mlAzSXtrF6t8OKtu3yZRhab9dp7uw0");
    for _ in 0..100_000 {
        value = Value::Array(vec![value]);
    }
    assert_eq!(mask_value(&mut value), 1);
    // Taken apart by hand: dropping it whole would recurse.
    while let Value::Array(mut items) = value {
        value = items.pop().unwrap_or(Value::Null);
    }
    assert_eq!(value, "***7uw0");
}

#[test]
fn innocent_text_runs_no_pattern() {
    let text = "fn main() { let total = items.iter().sum(); } // see https://docs.rs/\n".repeat(50);
    let scan = scan(&text);
    assert_eq!((scan.windows, scan.work, scan.spans.len()), (0, 0, 0));
}

#[test]
fn hostile_text_costs_no_more_than_its_length() {
    let units = [
        "key",
        "=",
        "eyJ",
        "\"",
        "key=",
        "key=a1",
        "key=\"",
        "-----BEGIN PRIVATE KEY-----",
        "curl -u ",
        "kind:secret data:",
        "://a:b@",
        "authorization=",
        ".ey",
        "glpat-",
        "sk-",
        "discord=",
        "ghp_ ",
        "secret_key' => ",
    ];
    for unit in units {
        let cost = |size: usize| {
            let text = unit.repeat(size / unit.len());
            let scan = scan(&text);
            (scan.windows, scan.work)
        };
        let (small, large) = (cost(20_000), cost(80_000));
        assert!(
            large.0 <= small.0 * 4 + 64 && large.0 <= 80_000,
            "{unit}: {small:?} {large:?}"
        );
        assert!(
            large.1 <= small.1 * 5 + 64 && large.1 <= 320_000,
            "{unit}: {small:?} {large:?}"
        );
    }
}

#[test]
fn every_rule_compiles_and_its_needles_are_found() {
    for (index, rule) in RULES.iter().enumerate() {
        assert!(pattern(index).is_some(), "{}", rule.id);
        assert!(
            !rule.needles.is_empty() || !rule.shapes.is_empty(),
            "{}",
            rule.id
        );
        for needle in rule.needles {
            assert!(needle.len() >= 3, "{}: {needle}", rule.id);
            let text = format!("..{}a..", needle.to_ascii_uppercase());
            let mut found = false;
            PREFILTER.scan(text.as_bytes(), |hit| {
                found |= hit.rule == index && hit.start == 2 && hit.end == 2 + needle.len();
            });
            assert!(found, "{}: {needle}", rule.id);
        }
    }
}

#[test]
fn what_the_owner_named_is_hidden_whatever_its_shape() {
    hide(["grandmother's maiden name".to_owned(), "short".to_owned()]);
    hide(["grandmother's".to_owned()]);
    let masked = mask("it is grandmother's maiden name, short and sweet; grandmother's");
    assert_eq!(masked.text, "it is ***, short and sweet; ***");
    assert_eq!(masked.count, 2);
    let mut value = json!({"deep": ["x grandmother's maiden name y"]});
    assert_eq!(mask_value(&mut value), 1);
    assert_eq!(value, json!({"deep": ["x *** y"]}));
}

#[test]
fn what_stands_around_a_token_does_not_hide_it() {
    let token = format!("ghp_{}", "16C7e42F292c6912E7710c838347Ae178B4a");
    for before in [
        "\x1b[01;31m\x1b[K",
        "\x1b[m",
        "a\x1b[38;5;196m",
        "to%3D",
        "x\\n",
    ] {
        let masked = mask(&format!("{before}{token}\x1b[m")).text.into_owned();
        assert!(!masked.contains(&token[4..20]), "{masked:?}");
    }
    for (before, after) in [("backup_", ""), ("", ".txt"), ("a/", ".git"), ("", "_old")] {
        let text = format!("{before}{token}{after}");
        assert_eq!(mask(&text).text, format!("{before}***8B4a{after}"));
    }
    // A word is a word.
    for before in ["m", "[0m", "%3", "1m"] {
        let text = format!("{before}{token}");
        assert_eq!(mask(&text).count, 0, "{text}");
    }
}
