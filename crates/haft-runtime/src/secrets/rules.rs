//! The table of known secrets: one line a format.
//!
//! `token` lines describe keys that carry their own mark, by a pattern that starts at the needle.
//! `assigned` lines describe values without a mark, which only the provider's name before them
//! tells from any other random string; their patterns describe the value. `one` and `many` lines are
//! read by a function. The number is the least entropy, in bits a byte.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::Regex;

use super::shape::Class::{self, Alnum, Digit, Hex, Is};
use super::{Scan, blocks, compile, generic, marks, web};

type Range = std::ops::Range<usize>;

/// How a rule looks for its secret once its needle was found.
pub(super) enum Find {
    Token { back: usize, bits: f32 },
    Assigned { bits: f32 },
    One(fn(&[u8], usize, usize) -> Option<Range>),
    Many(fn(&mut Scan<'_>, usize, usize)),
}

pub(super) struct Rule {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "names the line in tests and debuggers")
    )]
    pub(super) id: &'static str,
    pub(super) needles: &'static [&'static str],
    pub(super) shapes: &'static [[Class; 4]],
    pub(super) find: Find,
    pattern: &'static str,
}

/// The compiled pattern of each rule, in the order of the table.
static COMPILED: LazyLock<Box<[OnceLock<Option<Regex>>]>> =
    LazyLock::new(|| RULES.iter().map(|_| OnceLock::new()).collect());

/// The pattern of the rule at `index`, anchored at the start of its window, compiled at first use.
pub(super) fn pattern(index: usize) -> Option<&'static Regex> {
    let compiled = COMPILED[index].get_or_init(|| {
        let rule = &RULES[index];
        let flags = match rule.find {
            Find::Assigned { .. } => "(?i)",
            _ => "",
        };
        compile(&format!(r"\A{flags}(?:{})", rule.pattern))
    });
    compiled.as_ref()
}

impl Rule {
    const fn new(
        id: &'static str,
        needles: &'static [&'static str],
        shapes: &'static [[Class; 4]],
        pattern: &'static str,
        find: Find,
    ) -> Self {
        Self {
            id,
            needles,
            shapes,
            find,
            pattern,
        }
    }
}

const fn token(
    id: &'static str,
    needles: &'static [&'static str],
    pattern: &'static str,
    bits: f32,
) -> Rule {
    Rule::new(id, needles, &[], pattern, Find::Token { back: 0, bits })
}

const fn assigned(
    id: &'static str,
    needles: &'static [&'static str],
    pattern: &'static str,
    bits: f32,
) -> Rule {
    Rule::new(id, needles, &[], pattern, Find::Assigned { bits })
}

/// A token whose mark stands `back` bytes behind its start.
const fn ending(
    id: &'static str,
    needles: &'static [&'static str],
    back: usize,
    pattern: &'static str,
    bits: f32,
) -> Rule {
    Rule::new(id, needles, &[], pattern, Find::Token { back, bits })
}

/// A token without any fixed word, found by the shape of four of its bytes.
const fn shaped(
    id: &'static str,
    shapes: &'static [[Class; 4]],
    find: fn(&[u8], usize, usize) -> Option<Range>,
) -> Rule {
    Rule::new(id, &[], shapes, "", Find::One(find))
}

const fn one(
    id: &'static str,
    needles: &'static [&'static str],
    find: fn(&[u8], usize, usize) -> Option<Range>,
) -> Rule {
    Rule::new(id, needles, &[], "", Find::One(find))
}

const fn many(
    id: &'static str,
    needles: &'static [&'static str],
    find: fn(&mut Scan<'_>, usize, usize),
) -> Rule {
    Rule::new(id, needles, &[], "", Find::Many(find))
}

const UUID: &str = "[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}";

#[rustfmt::skip]
pub(super) static RULES: &[Rule] = &[
    // Told by name or by form alone
    many("private-key", &["-----BEGIN"], blocks::find_private_key),
    many("kubernetes-secret", &["kind"], blocks::find_kubernetes),
    many("curl", &["curl"], web::find_curl),
    one("jwt", &[".ey"], blocks::find_jwt),
    one("jwt-base64", &["ZXlK"], blocks::find_wrapped_jwt),
    one("url-password", &["://"], web::find_url_password),
    one("authorization", &["authorization"], web::find_authorization),
    one("bearer", &["bearer "], web::find_bearer),
    one("key", &["key", "token", "secret", "credential", "creds", "api", "auth", "access"], generic::find_key),
    one("password", &["pass", "pwd"], generic::find_password),
    token("nuget-config-password", &["<add key="], r#"<add key="(?:ClearText)?Password"\s{1,300}value="(.{8,300}?)"\s{0,300}/>"#, 1.0),
    token("freemius-secret-key", &["secret_key"], r#"secret_key["']\s{0,300}=>\s{0,300}["'](sk_\S{29})["']"#, 2.0),
    assigned("sidekiq-secret", &["BUNDLE_ENTERPRISE__CONTRIBSYS__COM", "BUNDLE_GEMS__CONTRIBSYS__COM"], "[a-f0-9]{8}:[a-f0-9]{8}", 2.0),

    // Clouds and hosting
    token("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], "(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", 2.8),
    token("aws-access-key-old", &["A3T"], "A3T[A-Z0-9][A-Z2-7]{16}", 2.8),
    token("aws-bedrock-long", &["ABSK"], "ABSK[A-Za-z0-9+/]{109,269}={0,2}", 3.0),
    token("aws-bedrock-short", &["bedrock-api-key-"], r"bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[\w+/=%.-]{0,1900}", 3.0),
    ending("azure-ad-client-secret", &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], 3, r#"([\w~.]{3}\dQ~[\w~.-]{31,34})(?:$|[\\'"`\s<),])"#, 3.0),
    token("gcp-api-key", &["AIza"], r"AIza[\w-]{35}", 3.0),
    token("google-oauth-secret", &["GOCSPX-"], r"GOCSPX-[\w-]{20,40}", 3.0),
    token("google-access-token", &["ya29."], r"ya29\.[\w-]{20,1000}", 3.0),
    token("google-refresh-token", &["1//0"], r"1//0[\w-]{35,130}", 3.5),
    token("alibaba-access-key-id", &["LTAI"], "(?i:LTAI[a-z0-9]{20})", 2.0),
    assigned("alibaba-secret-key", &["alibaba", "aliyun"], "[a-z0-9]{30}", 2.5),
    token("tencent-secret-id", &["AKID"], "AKID[A-Za-z0-9]{32}", 3.0),
    token("digitalocean", &["dop_v1_", "doo_v1_", "dor_v1_"], "do[opr]_v1_[a-f0-9]{64}", 2.5),
    assigned("heroku", &["heroku"], UUID, 2.5),
    token("heroku-v2", &["HRKU-AA"], r"HRKU-AA[\w-]{58}", 3.0),
    assigned("cloudflare", &["cloudflare"], r"[a-z0-9_-]{40}", 2.5),
    assigned("cloudflare-global", &["cloudflare"], "[a-f0-9]{37}", 2.5),
    token("cloudflare-origin-ca", &["v1.0-"], r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}", 2.0),
    assigned("fastly", &["fastly"], r"[a-z0-9=_-]{32}", 2.5),
    assigned("netlify", &["netlify"], r"[a-z0-9=_-]{40,46}", 2.5),
    token("netlify-v2", &["nfp_", "nfc_", "nfo_", "nfb_", "nfu_"], "nf[pcobu]_[A-Za-z0-9]{36,40}", 3.0),
    token("flyio", &["fm1", "fm2_", "fo1_"], r"(?:fo1_[\w-]{43}|fm1[ar]_[A-Za-z0-9+/]{100,}={0,3}|fm2_[A-Za-z0-9+/]{100,}={0,3})", 3.5),
    token("render", &["rnd_"], "rnd_[A-Za-z0-9]{24,40}", 3.0),
    token("vercel", &["vcp_", "vci_", "vca_", "vcr_", "vck_"], "vc[piark]_[A-Za-z0-9]{24,64}", 3.0),
    token("scalingo", &["tk-us-"], r"tk-us-[\w-]{48}", 2.0),
    token("scaleway", &["SCW"], "SCW[A-Z0-9]{17}", 3.0),
    token("planetscale", &["pscale_"], r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}", 3.0),
    token("supabase", &["sbp_", "sb_secret_"], r"(?:sbp_[a-f0-9]{40}|sb_secret_[\w-]{20,64})", 3.0),
    token("neon", &["napi_"], "napi_[a-z0-9]{48,80}", 3.0),
    token("tailscale", &["tskey-"], "tskey-[a-z]{2,10}-[A-Za-z0-9]{6,}(?:-[A-Za-z0-9]{6,})?", 3.0),
    token("doppler", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}", 2.0),
    token("pulumi", &["pul-"], "pul-[a-f0-9]{40}", 2.0),
    token("infracost", &["ico-"], "ico-[A-Za-z0-9]{32}", 3.0),
    token("databricks", &["dapi"], r"dapi[a-f0-9]{32}(?:-\d)?", 3.0),
    token("clickhouse", &["4b1d"], "4b1d[A-Za-z0-9]{38}", 3.0),
    token("openshift", &["sha256~"], r"sha256~[\w-]{43}", 3.5),
    ending("terraform-cloud", &[".atlasv1."], 14, r"(?i:[a-z0-9]{14}\.atlasv1\.[a-z0-9_=-]{60,70})", 3.0),
    token("vault", &["hvs.", "hvb.", "hvr."], r"(?:hvs\.[\w-]{90,120}|hvb\.[\w-]{138,300}|hv[sbr]\.[A-Za-z0-9]{24,88})", 3.5),
    shaped("vault-old", &[[Is(b's'), Is(b'.'), Alnum, Alnum]], marks::find_old_vault),
    token("harness", &["pat.", "sat."], r"[ps]at\.[\w-]{22}\.[0-9a-zA-Z]{24}\.[0-9a-zA-Z]{20}", 3.0),
    token("octopus-deploy", &["API-"], "API-[A-Z0-9]{26}", 3.0),
    token("prefect", &["pnu_"], "pn[ub]_[A-Za-z0-9]{36}", 2.0),
    token("yandex-iam", &["t1."], r"t1\.[A-Z0-9a-z_-]+={0,2}\.[A-Z0-9a-z_-]{86}={0,2}", 3.0),
    token("yandex-key", &["AQVN"], r"AQVN[\w-]{35,38}", 3.0),
    assigned("yandex", &["yandex"], r"(?:t1\.[\w-]+={0,2}\.[\w-]{86}={0,2}|AQVN[\w-]{35,38}|YC[\w-]{38})", 2.5),

    // Code hosts, packages and builds
    token("github", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], "gh[pousr]_[0-9a-zA-Z]{36,76}", 3.0),
    token("github-fine-grained", &["github_pat_"], r"github_pat_\w{82}", 3.0),
    token("gitlab", &["glpat-", "gldt-", "glft-", "glrt-", "glrtr-", "glsoat-", "glffct-"], r"gl(?:pat|dt|ft|rtr?|soat|ffct)-(?:t\d_)?[\w-]{20,300}(?:\.[0-9a-z]{2}[a-z0-9]{7})?(?:\.[\w-]{1,20})?", 3.0),
    token("gitlab-job", &["glcbt-"], r"glcbt-(?:[0-9a-zA-Z]{1,5}_)?[\w-]{20}", 3.0),
    token("gitlab-mail", &["glimt-"], r"glimt-[\w-]{25}", 3.0),
    token("gitlab-agent", &["glagent-"], r"glagent-[\w-]{50}", 3.0),
    token("gitlab-oauth", &["gloas-"], r"gloas-[\w-]{64}", 3.0),
    token("gitlab-trigger", &["glptt-"], "glptt-[0-9a-f]{40}", 3.0),
    token("gitlab-runner-old", &["GR1348941"], r"GR1348941[\w-]{20}", 3.0),
    token("gitlab-session", &["_gitlab_session="], "_gitlab_session=[0-9a-z]{32}", 3.0),
    assigned("bitbucket", &["bitbucket"], r"(?:[a-z0-9=_-]{64}|[a-z0-9]{32})", 2.5),
    token("atlassian", &["ATATT3", "ATCTT3", "ATBB", "ATTA"], r"(?:ATATT3|ATCTT3)[\w=-]{60,250}|ATBB[\w=-]{24,64}|ATTA[a-f0-9]{64}[A-Za-z0-9]{8}", 3.0),
    assigned("atlassian-old", &["atlassian", "confluence", "jira"], r"[a-z0-9]{20}[a-f0-9]{4}", 3.0),
    token("npm", &["npm_"], "npm_(?i:[a-z0-9]{36})", 2.0),
    token("pypi", &["pypi-AgE"], r"pypi-AgE[\w-]{50,1000}", 3.0),
    token("rubygems", &["rubygems_"], "rubygems_[a-f0-9]{48}", 2.0),
    token("clojars", &["CLOJARS_"], "CLOJARS_(?i:[a-z0-9]{60})", 2.0),
    token("nuget", &["oy2"], "oy2[a-z0-9]{43}", 3.0),
    token("crates-io", &["cio"], "cio[a-zA-Z0-9]{32}", 3.5),
    token("docker", &["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[\w-]{27,36}", 3.0),
    token("artifactory", &["AKCp"], "AKCp[A-Za-z0-9]{69}", 4.0),
    token("artifactory-reference", &["cmVmd"], "cmVmd[A-Za-z0-9]{59}", 4.0),
    assigned("jfrog", &["jfrog", "artifactory", "bintray", "xray"], "(?:[a-z0-9]{73}|[a-z0-9]{64})", 2.5),
    assigned("codecov", &["codecov"], "[a-z0-9]{32}", 2.5),
    assigned("travisci", &["travis"], "[a-z0-9]{22}", 2.5),
    assigned("droneci", &["droneci"], "[a-z0-9]{32}", 2.5),
    token("circleci", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[A-Za-z0-9]{22}_[a-f0-9]{40}", 3.0),
    token("buildkite", &["bkua_"], "bkua_[a-f0-9]{40}", 3.0),
    token("sonar", &["sqp_", "squ_", "sqa_"], "sq[pua]_[a-z0-9]{40}", 3.0),
    assigned("sonar-old", &["sonar"], r"(?:sq[pua]_)?[a-z0-9=_-]{40}", 2.5),
    assigned("snyk", &["snyk"], UUID, 2.5),
    token("sourcegraph", &["sgp_"], "sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40}", 3.0),
    assigned("sourcegraph-old", &["sourcegraph"], "[a-f0-9]{40}", 3.0),
    token("slk", &["slk_"], "slk_[a-f0-9]{64}", 3.0),

    // Models
    token("anthropic", &["sk-ant-"], r"sk-ant-(?:api03|admin01)-[\w-]{93}AA", 3.0),
    token("anthropic-oauth", &["sk-ant-oat", "sk-ant-ort"], r"sk-ant-o[ar]t\d\d-[\w-]{60,140}", 3.0),
    token("openai-key", &["sk-"], r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,74}T3BlbkFJ[\w-]{20,74}|(?:proj|svcacct|admin)-[\w-]{40,200}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20})", 3.0),
    token("sk-key", &["sk-"], r"sk-(?:[a-f0-9]{32}|[A-Za-z0-9]{48}|or-v1-[a-f0-9]{64}|lf-[a-f0-9-]{36})", 3.2),
    token("perplexity", &["pplx-"], "pplx-[A-Za-z0-9]{48}", 3.5),
    token("huggingface", &["hf_"], "hf_[A-Za-z0-9]{34}", 2.0),
    token("huggingface-org", &["api_org_"], "api_org_[A-Za-z0-9]{34}", 2.0),
    token("groq", &["gsk_"], "gsk_[A-Za-z0-9]{48,56}", 3.0),
    token("xai", &["xai-"], "xai-[A-Za-z0-9]{70,90}", 3.0),
    token("replicate", &["r8_"], "r8_[A-Za-z0-9]{37}", 3.0),
    token("langsmith", &["lsv2_"], "lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}", 3.0),
    token("nvidia", &["nvapi-"], r"nvapi-[\w-]{60,80}", 3.0),
    token("pinecone", &["pcsk_"], r"pcsk_[A-Za-z0-9_]{60,80}", 3.0),
    token("tavily", &["tvly-"], r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{32}", 3.0),
    token("firecrawl", &["fc-"], "fc-[a-f0-9]{32}", 3.0),
    assigned("cohere", &["cohere", "CO_API_KEY"], "[a-z0-9]{40}", 4.0),
    assigned("mistral", &["mistral"], "[a-z0-9]{32}", 3.5),
    assigned("deepseek", &["deepseek"], r"sk-[a-f0-9]{32}", 3.0),
    assigned("privateai", &["private-ai", "private_ai", "privateai"], "[a-z0-9]{32}", 3.0),

    // Money
    token("stripe", &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"], "[sr]k_(?:test|live|prod)_[a-zA-Z0-9]{10,99}", 2.0),
    token("stripe-webhook", &["whsec_"], r"whsec_[A-Za-z0-9+/=]{24,64}", 3.0),
    token("square", &["sq0atp-", "sq0csp-", "EAAA"], r"(?:sq0[a-z]{3}-[\w-]{22,60}|EAAA[\w-]{22,60})", 2.0),
    token("paypal-braintree", &["access_token$"], r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}", 3.0),
    token("razorpay", &["rzp_live_", "rzp_test_"], "rzp_(?:live|test)_[A-Za-z0-9]{14}", 3.0),
    token("flutterwave", &["FLWSECK", "FLWPUBK"], "FLW(?:SECK|PUBK)(?:_TEST)?-(?i:[a-h0-9]{32}-X|[a-h0-9]{12})", 2.0),
    token("asaas", &["$aact_"], r"\$aact_[A-Za-z0-9=+/:_-]{60,300}", 3.0),
    assigned("plaid", &["plaid"], r"(?:access-(?:sandbox|development|production)-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}|[a-z0-9]{30}|[a-z0-9]{24})", 2.8),
    assigned("finicity", &["finicity"], "(?:[a-f0-9]{32}|[a-z0-9]{20})", 2.5),
    assigned("finnhub", &["finnhub"], "[a-z0-9]{20}", 2.5),
    assigned("gocardless", &["gocardless"], r"live_[a-z0-9=_-]{40}", 2.5),
    assigned("freshbooks", &["freshbooks"], "[a-z0-9]{64}", 2.5),
    assigned("coinbase", &["coinbase"], r"[a-z0-9_-]{64}", 2.5),
    assigned("bittrex", &["bittrex"], "[a-z0-9]{32}", 2.5),
    assigned("kraken", &["kraken"], r"[a-z0-9/=_+-]{80,90}", 2.5),
    assigned("kucoin", &["kucoin"], r"(?:[a-f0-9]{24}|[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12})", 2.5),
    token("duffel", &["duffel_test_", "duffel_live_"], r"duffel_(?:test|live)_(?i:[a-z0-9_=-]{43})", 2.0),
    token("easypost", &["EZAK", "EZTK"], "EZ[AT]K(?i:[a-z0-9]{54})", 2.0),
    token("shippo", &["shippo_live_", "shippo_test_"], "shippo_(?:live|test)_[a-fA-F0-9]{40}", 2.0),
    token("shopify", &["shpat_", "shpca_", "shppa_", "shpss_", "shptka_", "shpua_"], "shp(?:at|ca|pa|ss|tka|ua)_[a-fA-F0-9]{32}", 2.0),
    assigned("lob", &["lob"], "(?:live|test)_(?:pub_[a-f0-9]{31}|[a-f0-9]{35})", 2.5),

    // Talk and mail
    token("slack-bot", &["xoxb-"], r"xoxb-(?:[0-9]{10,13}-[0-9]{10,13}[a-zA-Z0-9-]{0,200}|[0-9]{8,14}-[a-zA-Z0-9]{18,26})", 2.5),
    token("slack-user", &["xoxp-", "xoxe-"], r"xox[pe](?:-[0-9]{10,13}){3}-[a-zA-Z0-9-]{28,34}", 2.0),
    token("slack-app", &["xapp-"], r"(?i:xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]+)", 2.0),
    token("slack-config", &["xoxe.xox"], r"(?i:xoxe\.xox[bp]-\d-[A-Z0-9]{100,200})", 2.0),
    token("slack-refresh", &["xoxe-"], r"(?i:xoxe-\d-[A-Z0-9]{100,200})", 2.0),
    token("slack-legacy", &["xoxo-", "xoxs-", "xoxp-"], r"xox[ops]-\d+-\d+-\d+-[a-fA-F\d]+", 2.5),
    token("slack-workspace", &["xoxa-", "xoxr-"], r"xox[ar]-(?:\d-)?[0-9a-zA-Z]{8,48}", 2.0),
    token("slack-cookie", &["xoxc-", "xoxd-"], r"xox[cd]-[A-Za-z0-9%/+=-]{40,300}", 3.0),
    token("slack-webhook", &["hooks.slack.com/"], r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{43,56})", 3.0),
    token("teams-webhook", &["webhook.office.com/webhookb2/"], r"webhook\.office\.com/webhookb2/([a-z0-9@/-]{36,73}/IncomingWebhook/[\w/-]{32,80})", 3.0),
    token("discord-webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/\d{17,20}/([\w-]{60,80})", 3.0),
    assigned("discord", &["discord"], r"(?:[a-f0-9]{64}|[0-9]{18}|[a-z0-9=_-]{32})", 1.8),
    one("telegram", &[":AA"], marks::find_telegram),
    assigned("telegram-bot", &["telegr"], r"[0-9]{5,16}:(?-i:A)[a-z0-9_-]{34}", 2.5),
    assigned("mattermost", &["mattermost"], "[a-z0-9]{26}", 2.5),
    assigned("gitter", &["gitter"], "[a-z0-9_-]{40}", 2.5),
    assigned("intercom", &["intercom"], r"[a-z0-9=_-]{60}", 2.5),
    assigned("messagebird", &["messagebird", "message-bird", "message_bird"], r"(?:[a-z0-9]{25}|[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12})", 2.5),
    assigned("sendbird", &["sendbird"], r"(?:[a-f0-9]{40}|[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12})", 2.5),
    shaped("twilio", &[[Is(b'S'), Is(b'K'), Hex, Hex]], marks::find_twilio),
    token("sendgrid", &["SG."], r"SG\.[\w=.-]{66}", 2.0),
    token("sendinblue", &["xkeysib-", "xsmtpsib-"], r"x(?:keysib|smtpsib)-[a-f0-9]{64}-(?i:[a-z0-9]{16})", 2.0),
    assigned("mailchimp", &["mailchimp"], r"[a-f0-9]{32}-us\d\d", 2.5),
    assigned("mailgun", &["mailgun"], r"(?:(?:pub)?key-[a-f0-9]{32}|[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8})", 2.5),
    token("mailgun-key", &["key-"], "key-[a-f0-9]{32}", 3.0),
    token("resend", &["re_"], r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}", 3.0),
    assigned("beamer", &["beamer"], r"b_[a-z0-9=_-]{44}", 2.5),
    assigned("twitch", &["twitch"], "[a-z0-9]{30}", 2.5),
    assigned("twitter", &["twitter"], r"(?:A{22}[a-zA-Z0-9%]{80,100}|[0-9]{15,25}-[a-z0-9]{20,40}|[a-z0-9]{50}|[a-z0-9]{45}|[a-z0-9]{25})", 2.5),
    shaped("facebook-access", &[[Digit, Digit, Digit, Is(b'|')], [Digit, Digit, Digit, Is(b'%')]], marks::find_facebook),
    token("facebook-page", &["EAAM", "EAAC"], "EAA[MC](?i:[a-z0-9]{100,})", 3.5),
    assigned("facebook", &["facebook"], "[a-f0-9]{32}", 3.0),
    assigned("linkedin", &["linkedin", "linked_in", "linked-in"], "(?:[a-z0-9]{16}|[a-z0-9]{14})", 2.0),
    assigned("flickr", &["flickr"], "[a-z0-9]{32}", 2.5),

    // Watching
    assigned("datadog", &["datadog"], "[a-z0-9]{40}", 2.5),
    assigned("datadog-api", &["datadog", "DD_API_KEY"], "[a-f0-9]{32}", 3.0),
    assigned("new-relic", &["new-relic", "newrelic", "new_relic"], r"(?:NRJS-[a-f0-9]{19}|NRII-[a-z0-9-]{32}|NRAK-[a-z0-9]{27}|[a-z0-9]{64})", 2.5),
    token("new-relic-key", &["NRAK-", "NRII-", "NRJS-", "NRAL-"], r"(?:NRJS-[a-f0-9]{19}|NRII-[\w-]{32}|NRA[KL]-(?i:[a-z0-9]{27}))", 3.0),
    token("grafana", &["glc_"], "glc_[A-Za-z0-9+/]{32,400}={0,3}", 3.0),
    token("grafana-service", &["glsa_"], "glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", 3.0),
    token("grafana-key", &["eyJrIjoi"], "(?i:eyJrIjoi[A-Za-z0-9]{70,400}={0,3})", 3.0),
    token("sentry-org", &["sntrys_"], r"sntrys_eyJpYXQiO[a-zA-Z0-9+/]{10,200}(?:LCJyZWdpb25fdXJs|InJlZ2lvbl91cmwi|cmVnaW9uX3VybCI6)[a-zA-Z0-9+/]{10,200}={0,2}_[a-zA-Z0-9+/]{43}", 4.0),
    token("sentry-user", &["sntryu_"], "sntryu_[a-f0-9]{64}", 3.2),
    assigned("sentry", &["sentry"], "[a-f0-9]{64}", 3.0),
    token("dynatrace", &["dt0c01.", "dt0s16."], r"dt0(?:c01|s\d\d)\.(?i:[a-z0-9]{24}\.[a-z0-9]{64})", 3.0),
    assigned("sumologic-id", &["sumo"], "su[a-z0-9]{12}", 3.0),
    assigned("sumologic-key", &["sumo"], "[a-z0-9]{64}", 3.0),
    token("posthog", &["phc_", "phx_"], "ph[cx]_[A-Za-z0-9]{40,50}", 3.0),
    assigned("opsgenie", &["opsgenie", "pagerduty"], r"(?:[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}|[a-z0-9+_-]{20})", 3.3),

    // Work
    one("airtable", &["pat"], marks::find_airtable),
    assigned("airtable-old", &["airtable"], "[a-z0-9]{17}", 2.5),
    assigned("asana", &["asana"], "(?:[0-9]{16}|[a-z0-9]{32})", 1.8),
    token("linear", &["lin_api_", "lin_oauth_"], "lin_(?:api|oauth)_(?i:[a-z0-9]{40,64})", 2.0),
    assigned("linear-client", &["linear"], "[a-f0-9]{32}", 2.5),
    token("notion", &["ntn_"], "ntn_[0-9]{11}[A-Za-z0-9]{35}", 4.0),
    token("notion-old", &["secret_"], "secret_[A-Za-z0-9]{43}", 3.5),
    assigned("trello", &["trello"], r"(?:[a-z0-9-]{64}|[a-z0-9-]{32})", 3.0),
    token("figma", &["figd_"], r"figd_[\w-]{38,44}", 3.0),
    token("postman", &["PMAK-"], "PMAK-(?i:[a-f0-9]{24}-[a-f0-9]{34})", 3.0),
    assigned("zendesk", &["zendesk"], "[a-z0-9]{40}", 2.5),
    assigned("hubspot", &["hubspot"], UUID, 2.5),
    token("hubspot-app", &["pat-na", "pat-eu"], r"pat-(?:na|eu)\d-[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}", 3.0),
    assigned("dropbox-short", &["dropbox"], r"sl\.[a-z0-9=_-]{135}", 2.5),
    token("dropbox", &["sl."], r"sl\.(?:u\.)?[A-Za-z0-9_=-]{130,1500}", 3.5),
    assigned("dropbox-old", &["dropbox"], r"(?:[a-z0-9]{11}A{10}[a-z0-9=_-]{43}|[a-z0-9]{15})", 2.5),
    assigned("typeform", &["typeform"], r"tfp_[a-z0-9_.=-]{59}", 2.5),
    assigned("squarespace", &["squarespace"], UUID, 2.5),
    token("frameio", &["fio-u-"], r"fio-u-(?i:[a-z0-9_=-]{64})", 2.0),
    token("readme", &["rdme_"], "rdme_[a-z0-9]{70}", 2.0),
    assigned("contentful", &["contentful"], r"[a-z0-9=_-]{43}", 2.5),
    token("contentful-pat", &["CFPAT-"], r"CFPAT-[\w-]{43}", 3.0),
    assigned("looker", &["looker"], "(?:[a-z0-9]{24}|[a-z0-9]{20})", 2.5),
    assigned("etsy", &["etsy"], "[a-z0-9]{24}", 3.0),
    assigned("launchdarkly", &["launchdarkly"], r"[a-z0-9=_-]{40}", 2.5),
    token("launchdarkly-key", &["sdk-", "api-"], "(?:sdk|api)-[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[a-f0-9]{4}-[a-f0-9]{12}", 3.0),
    assigned("algolia", &["algolia"], "[a-z0-9]{32}", 2.5),
    assigned("adafruit", &["adafruit"], r"[a-z0-9_-]{32}", 2.5),
    assigned("adobe", &["adobe"], "(?:p8e-[a-z0-9]{32}|[a-f0-9]{32})", 2.0),
    token("adobe-secret", &["p8e-"], "p8e-(?i:[a-z0-9]{32})", 2.0),
    assigned("confluent", &["confluent"], "(?:[a-z0-9]{64}|[a-z0-9]{16})", 2.5),
    assigned("rapidapi", &["rapidapi"], r"[a-z0-9_-]{50}", 2.5),
    assigned("nytimes", &["nytimes", "newyorktimes", "new-york-times,"], r"[a-z0-9=_-]{32}", 2.5),
    assigned("mapbox", &["mapbox"], r"[ps]k\.[a-z0-9]{60}\.[a-z0-9]{22}", 2.5),
    token("mapbox-token", &["pk.eyJ", "sk.eyJ"], r"[ps]k\.eyJ[\w-]{50,120}\.[\w-]{20,24}", 3.0),
    ending("maxmind", &["_mmk"], 36, "[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk", 3.5),
    assigned("meraki", &["meraki"], "[0-9a-f]{40}", 3.0),
    token("apify", &["apify_api_"], "apify_api_[A-Za-z0-9]{36}", 3.0),
    token("intra42", &["s-s4t2ud-", "s-s4t2af-"], "s-s4t2(?:ud|af)-(?i:[a-f0-9]{64})", 2.5),

    // Sign-in
    assigned("okta", &["okta"], r"00[\w=-]{40}", 3.5),
    token("1password", &["A3-"], "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}", 3.3),
    token("1password-service", &["ops_eyJ"], "ops_eyJ[a-zA-Z0-9+/]{200,1900}={0,3}", 4.0),
    token("authress", &["sc_", "ext_", "scauth_", "authress_"], r"(?:sc|ext|scauth|authress)_(?i:[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120})", 2.0),
    token("defined", &["dnkey-"], r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}", 2.5),
    assigned("defined-networking", &["dnkey"], r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52}", 2.5),
    token("age", &["AGE-SECRET-KEY-1"], "AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", 3.0),
    token("settlemint", &["sm_aat_", "sm_pat_", "sm_sat_"], "sm_[aps]at_[a-zA-Z0-9]{16}", 3.0),
];
