//! Templates become requests, and what is wrong with them is said before anything is sent.

use super::*;

fn maker(change: impl FnOnce(&mut RequestSettings)) -> Result<Maker> {
    let mut settings = RequestSettings::default();
    change(&mut settings);
    Maker::new(&settings, &["sku".into(), "url".into()], Uuid::nil())
}

#[test]
fn columns_are_filled_in_and_only_equal_requests_count_as_equal() {
    let maker = maker(|settings| {
        settings.url = Some("http://h/{sku}".into());
        settings.headers.push("X-Sku: {sku}".into());
        settings.body = Some("{\"a\": \"{sku}\"}".into());
    });
    let maker = maker.unwrap();
    let held = |sku: &str| {
        let columns = Columns::from([("sku".into(), sku.into()), ("url".into(), String::new())]);
        Content::Columns(Box::new(columns))
    };
    let (first, second) = (held("a b"), held("\""));
    let rendered = maker.render(&first).unwrap();
    assert_eq!(rendered.url, "http://h/a%20b");
    assert_eq!(
        rendered.headers,
        [(Cow::Borrowed("X-Sku"), Cow::Borrowed("a b"))]
    );
    let other = maker.render(&second).unwrap();
    assert_eq!(other.body.as_deref(), Some("{\"a\": \"\\\"\"}"));
    assert_ne!(maker.digest(&rendered, None), maker.digest(&other, None));
    assert_eq!(
        maker.digest(&rendered, None),
        maker.digest(&maker.render(&held("a b")).unwrap(), None)
    );
}

#[test]
fn an_unknown_column_is_refused_before_anything_is_sent() {
    let error = maker(|settings| settings.url = Some("http://h/{skew}".into()))
        .err()
        .unwrap();
    assert!(error.to_string().contains("skew"), "{error}");
}

#[test]
fn a_request_that_names_no_column_is_the_same_for_all_inputs() {
    let url = |settings: &mut RequestSettings, url: &str| settings.url = Some(url.into());
    assert!(
        maker(|settings| url(settings, "http://h/{sku"))
            .unwrap()
            .is_constant()
    );
    assert!(
        !maker(|settings| url(settings, "http://h/{sku}"))
            .unwrap()
            .is_constant()
    );
    assert!(!maker(|_| {}).unwrap().is_constant());
    let of_body = maker(|settings| {
        url(settings, "http://h/");
        settings.body = Some("{sku}".into());
    });
    assert!(!of_body.unwrap().is_constant());
}

#[test]
fn keys_differ_by_input_and_by_job_and_by_nothing_else() {
    let (a, b) = (Uuid::from_u128(1), Uuid::from_u128(2));
    assert_eq!(idempotency_key(a, 7), idempotency_key(a, 7));
    assert_ne!(idempotency_key(a, 7), idempotency_key(a, 8));
    assert_ne!(idempotency_key(a, 7), idempotency_key(b, 7));
}
