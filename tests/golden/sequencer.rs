//! Sequencer configurations: entries in elements, outermost first.

use furiosa_visa_std::PlanError;
use furiosa_visa_std::mapping::{M, Pool, factorize};
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::sequencer::{Config, Request, StreamPart, contiguous_run, derive, limited};

fn derived<Buf: M, Time: M, Packet: M>() -> Result<Config, PlanError> {
    let mut pool = Pool::new();
    let buf = factorize(&mut pool, Buf::EXPR);
    let request = Request {
        buf_expr: Some(Buf::EXPR),
        ..Request::new("read", &buf, StreamPart::Expr(Time::EXPR), StreamPart::Expr(Packet::EXPR))
    };
    Ok(derive(&mut pool, &request)?.config)
}

fn text<Buf: M, Time: M, Packet: M>() -> String {
    derived::<Buf, Time, Packet>().expect("derives").to_string()
}

fn refused<Buf: M, Time: M, Packet: M>() -> PlanError {
    derived::<Buf, Time, Packet>().expect_err("is refused")
}

#[test]
fn strided() {
    axes![A = 8, B = 512];
    assert_eq!(text::<m![A, B], m![A, B / 32], m![B % 32]>(), "[8 : 512, 16 : 32, 32 : 1] : 32");
}

#[test]
fn reorder() {
    axes![N = 4, C = 3, H = 8, W = 8];
    assert_eq!(text::<m![N, C, H, W], m![W, H, C, N], m![1]>(), "[8 : 1, 8 : 8, 3 : 64, 4 : 192] : 1");
}

#[test]
fn rearrange() {
    axes![A = 8, B = 8, C = 8];
    assert_eq!(text::<m![A, B, C # 32], m![B, A], m![C # 16]>(), "[8 : 32, 8 : 256, 16 : 1] : 16");
}

#[test]
fn split() {
    axes![A = 8, B = 8, C = 4];
    assert_eq!(
        text::<m![A, B, C # 8], m![A % 2, B % 4, A / 2, B / 4], m![C # 32]>(),
        "[2 : 64, 4 : 8, 4 : 128, 2 : 32, 32 : 1] : 32"
    );
}

#[test]
fn slice() {
    axes![A = 16, B = 8, C = 8];
    assert_eq!(
        text::<m![A, B, C], m![A / 4, A % 4 = 3, B / 4, B % 4 = 2], m![C]>(),
        "[4 : 256, 3 : 64, 2 : 32, 2 : 8, 8 : 1] : 8"
    );
}

#[test]
fn broadcast() {
    axes![A = 16, T = 4, P = 4];
    assert_eq!(text::<m![A], m![T, A], m![P]>(), "[4 : 0, 16 : 1, 4 : 0] : 4");
}

#[test]
fn merge() {
    axes![N = 8, C = 8, H = 8, W = 32];
    let config = derived::<
        m![N, C, H, W],
        m![W / 16, H % 2, H / 2, C / 2, C % 2, N / 2, N % 2, W / 8 % 2],
        m![W % 8],
    >()
    .expect("derives");
    assert_eq!(
        config.to_string(),
        "[2 : 16, 2 : 32, 4 : 64, 4 : 512, 2 : 256, 4 : 4096, 2 : 2048, 2 : 8, 8 : 1] : 8"
    );
    let merged = limited("read", config).expect("fits after merging");
    assert_eq!(merged.to_string(), "[2 : 16, 2 : 32, 4 : 64, 8 : 256, 8 : 2048, 16 : 1] : 16");
}

#[test]
fn contiguous_runs() {
    axes![N = 4, C = 3, H = 4, W = 8];
    let one = derived::<m![N, C, H, W], m![N, C, H], m![W]>().expect("derives");
    assert_eq!((one.to_string().as_str(), contiguous_run(&one)), ("[4 : 96, 3 : 32, 4 : 8, 8 : 1] : 8", 384));
    let two = derived::<m![N, C, H, W], m![C, N, H], m![W]>().expect("derives");
    assert_eq!((two.to_string().as_str(), contiguous_run(&two)), ("[3 : 32, 4 : 96, 4 : 8, 8 : 1] : 8", 32));
    let three = derived::<m![N, C, H, W], m![N, H, C], m![W]>().expect("derives");
    assert_eq!(contiguous_run(&three), 8);
}

#[test]
fn padded_groups() {
    axes![A = 3, B = 5, C = 2];
    assert_eq!(text::<m![A, B, C], m![A], m![[B, C] # 16]>(), "[3 : 10, 16 : 1] : 16");
    assert_eq!(text::<m![A, B, C], m![1], m![[A, B, C] # 32]>(), "[32 : 1] : 32");
    assert_eq!(refused::<m![B, A, C], m![1], m![[A, B, C] # 32]>().rule(), "not factorizable");
}

#[test]
fn splits_that_cross_digits_of_the_buffer() {
    axes![A = 16];
    assert_eq!(text::<m![A / 4, A % 4], m![1], m![A]>(), "[16 : 1] : 16");
    assert_eq!(text::<m![A % 4, A / 4], m![1], m![A]>(), "[4 : 1, 4 : 4] : 16");
}

#[test]
fn insufficient_input() {
    axes![N = 2048];
    let error = refused::<m![N % 512], m![N / 512], m![N % 512]>();
    assert_eq!(error.rule(), "insufficient input");
    assert!(error.message().contains("`m![N / 512]`"), "{error}");
    assert!(error.message().contains("`m![N % 512]`"), "{error}");
}

#[test]
fn incompatible_shapes() {
    axes![A = 15];
    let error = refused::<m![A % 5, A / 5], m![1], m![A % 3, A / 3]>();
    assert_eq!(error.rule(), "incompatible shapes");
    assert!(error.message().contains("`m![A % 5, A / 5]`"), "{error}");
}

#[test]
fn dropped_and_repeated_axes() {
    axes![A = 4, B = 8];
    assert_eq!(refused::<m![A, B], m![1], m![B]>().rule(), "axis dropped");
    assert_eq!(refused::<m![A, B], m![A / 2], m![B]>().rule(), "axis dropped");
    assert_eq!(refused::<m![A, B], m![A, A], m![B]>().rule(), "axis repeated");
    assert_eq!(refused::<m![A, B], m![A, B / 2], m![B % 4]>().rule(), "axis repeated");
    assert_eq!(text::<m![A, B], m![A = 3], m![B]>(), "[3 : 8, 8 : 1] : 8");
}

#[test]
fn limits() {
    axes![A = 65_536, B = 65_537, C = 2, D = 3, E = 2, F = 3, G = 2, H = 3, I = 2, J = 3, K = 2];
    let read = |config: Result<Config, PlanError>| limited("read", config.expect("derives"));
    assert!(read(derived::<m![A], m![A], m![1]>()).is_ok());
    assert_eq!(read(derived::<m![B], m![B], m![1]>()).expect_err("too long").rule(), "iteration limit");
    // Every other axis is a broadcast, so that nothing merges: 8 entries fit, 9 do not.
    assert!(read(derived::<m![C, E, G, I], m![D, C, F, E, H, G, J], m![I]>()).is_ok());
    let nine = read(derived::<m![C, E, G, I, K], m![D, C, F, E, H, G, J, I], m![K # 4]>());
    assert_eq!(nine.expect_err("too many").rule(), "entry limit");
}

#[test]
fn composites_over_a_contiguous_run() {
    axes![H = 5, W = 20, V = 40];
    assert_eq!(
        text::<m![[H, W] # 104], m![[H, W] # 104 / 8], m![[H, W] # 104 % 8]>(),
        "[13 : 8, 2 : 4, 4 : 1] : 8"
    );
    assert_eq!(
        text::<m![V % 20 # 24], m![V % 20 # 24 / 8], m![V % 20 # 24 % 8]>(),
        "[3 : 8, 2 : 4, 4 : 1] : 8"
    );
}

#[test]
fn members_that_only_line_up_together() {
    axes![A = 12, B = 3];
    assert_eq!(text::<m![A % 3, A / 3], m![A / 4, A % 4], m![1]>(), "[4 : 1, 3 : 4] : 1");
    assert_eq!(text::<m![B # 4 % 2, B # 4 / 2], m![1], m![B # 4]>(), "[2 : 1, 2 : 2] : 4");
    assert_eq!(text::<m![A = 2], m![1], m![A % 2]>(), "[2 : 1] : 2");
}

#[test]
fn a_padded_group_longer_than_a_packet() {
    axes![A = 6, B = 8];
    type Group = m![[A / 2, B # 10] # 32];
    assert_eq!(
        text::<m![A % 2 # 3, { Group }], m![A % 2 # 3, { Group } / 8], m![{ Group } % 8]>(),
        "[3 : 32, 4 : 8, 4 : 2, 2 : 1] : 8"
    );
}
