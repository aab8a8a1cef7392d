//! Const evaluation gives what run time gives: plans that the compiler derived, against the same derivation here.

use furiosa_visa_std::PlanError;
use furiosa_visa_std::mapping::Expr;
use furiosa_visa_std::mapping::M as Mapping;
use furiosa_visa_std::prelude::{axes, m};
use furiosa_visa_std::scalar::ElementType;
use furiosa_visa_std::sequencer::{BufferConfig, BufferRequest, derive_buffer};
use std::hint::black_box;

axes![A = 16, B = 2, C = 4, D = 7, E = 12];

const fn request(buf: &'static Expr, time: &'static Expr, packet: &'static Expr) -> BufferRequest {
    BufferRequest { operation: "read", element: ElementType::I8, buf, time, packet, indirect: false }
}

/// A plan that the compiler derived, and what it derived it from.
struct Plan {
    request: BufferRequest,
    config: Result<BufferConfig, PlanError>,
}

impl Plan {
    const fn new(buf: &'static Expr, time: &'static Expr, packet: &'static Expr) -> Self {
        let request = request(buf, time, packet);
        Self { config: derive_buffer(&request), request }
    }
}

macro_rules! plans {
    ($($buf:ty; $time:ty; $packet:ty)*) => {
        [$( const { Plan::new(<$buf as Mapping>::EXPR, <$time as Mapping>::EXPR, <$packet as Mapping>::EXPR) } ),*]
    };
}

/// Derives every plan once more, from values that the compiler does not see through.
fn derived_again(plans: &[Plan]) {
    for Plan { request, config } in plans {
        let BufferRequest { buf, time, packet, .. } = request;
        let again = derive_buffer(black_box(request));
        assert_eq!(*config, again, "{buf}; {time}; {packet}");
    }
}

#[test]
fn accepted_plans() {
    let plans = plans! {
        m![A]; m![1]; m![A]
        m![A, B, C]; m![B, A]; m![C]
        m![D]; m![1]; m![D = 3]
        m![D # 8, B]; m![D]; m![B]
        m![[A, B] # 40, C]; m![A, B]; m![C]
        m![A, # 2 + D + # 7]; m![A]; m![D]
    };
    // Worked out by hand: entries of a digit each, outermost first, neighbours that continue each other merged.
    let expected = [
        "[16 : 1] : 16",
        "[2 : 4, 16 : 8, 4 : 1] : 4",
        "[3 : 1] : 3",
        "[7 : 2, 2 : 1] : 2",
        "[16 : 8, 2 : 4, 4 : 1] : 4",
        "[16 : 16, 7 : 1] : 7 @ base 2",
    ];
    let found = plans.each_ref().map(|plan| match &plan.config {
        Ok(config) => config.derived.to_string(),
        Err(error) => error.to_string(),
    });
    assert_eq!(found, expected);
    derived_again(&plans);
}

#[test]
fn refused_plans() {
    let plans = plans! {
        m![A, B]; m![1]; m![A]
        m![E % 4, E / 4, B]; m![E % 6, E / 6]; m![B]
        m![B, A]; m![[A, B] # 33]; m![1]
        m![C / 2, A / 8, C % 2, B, A % 8]; m![[C, B] / 2]; m![A, [C, B] % 2]
        m![A = 8]; m![A]; m![1]
    };
    let found = plans.each_ref().map(|plan| match &plan.config {
        Ok(config) => panic!("{} is accepted", config.derived),
        Err(error) => error.rule(),
    });
    assert_eq!(
        found,
        ["axis dropped", "incompatible shapes", "not factorizable", "packet fetch", "insufficient input"]
    );
    derived_again(&plans);
}
