//! Tensors whose place does not matter: `AUTO` wherever an address can be given, bytes that are free when a handle ends, and
//! what a full memory says.

use crate::{Cluster, block_on, code, init};
use furiosa_visa_std::chip::{Fault, FaultKind};
use furiosa_visa_std::prelude::*;
use furiosa_visa_std::spec::{DM_BYTES, HBM_BYTES};

axes![A = 256, B = 64, Q = 300000, R = 10];
type X = HbmTensor<i32, m![1], m![A, B]>;
type Big = HbmTensor<i8, m![1], m![Q]>;
type BigDm = DmTensor<i8, m![1], Cluster, m![1 # 256], m![Q]>;

fn numbers() -> Vec<i32> {
    (0..256 * 64).map(|k| code(7, k) as i32 % 1000).collect()
}

fn launched<Y>(kernel: impl for<'a> DeviceFn<(&'a mut Context, &'a X), Output = Y>) -> Result<Y, Fault>
where
    Y: DeviceSend,
{
    block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<i32, m![A, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        assert_eq!(x.address(), HBM_BYTES - 65536);
        try_launch(kernel, (&mut *ctx, &x)).await
    })
}

/// A stream of a tensor in the Vector Engine, behind the addition of an operand.
macro_rules! plus {
    ($ctx:ident, $x:ident, $operand:expr) => {
        $ctx.main
            .begin($x.view())
            .fetch::<i32, m![B / 8], m![B % 8]>()
            .collect::<m![B / 8], m![B % 8]>()
            .vector_init()
            .vector_intra_slice_branch(BranchMode::Unconditional)
            .vector_fxp(FxpBinaryOp::AddFxp, $operand)
    };
}

/// No address is named: from the host, to DM, into the VRF, by a commit, to HBM and back.
#[test]
fn no_address_is_named() {
    #[device(chip = 1)]
    fn doubled(ctx: &mut Context, x: &X) -> X {
        let x = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, AUTO);
        let load = |ctx: &mut Context| {
            ctx.sub
                .begin(x.view())
                .fetch::<i32, m![B / 8], m![B % 8]>()
                .collect::<m![B / 8], m![B % 8]>()
                .to_vrf::<m![B]>(AUTO)
        };
        let operand = load(ctx);
        let other = load(ctx);
        assert_eq!((operand.address(), other.address()), (8192 - 256, 8192 - 512));
        drop(other);
        let copy = operand.clone();
        drop(operand);
        assert_eq!(load(ctx).address(), 8192 - 512, "a clone holds the bytes");
        let sums = plus!(ctx, x, &copy).vector_final().commit::<m![B]>(AUTO);
        assert_eq!(
            (x.address(), sums.address()),
            (DM_BYTES as u64 - 4096 - 256, DM_BYTES as u64 - 4096 - 512)
        );
        let back: X = sums.to_hbm(&mut ctx.tdma, AUTO);
        back.to_hbm(&mut ctx.tdma, AUTO)
    }
    let expected: Vec<_> = numbers().into_iter().map(|v| Opt::Init(2 * v)).collect();
    block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<i32, m![A, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(doubled, (&mut *ctx, &x)).await;
        assert_eq!(y.address(), HBM_BYTES - 3 * 65536, "the one before it lived until the end of the kernel");
        // The handle of a result holds its bytes outside of the kernel too.
        let z: X = y.to_hbm(&mut ctx.tdma, AUTO);
        assert_eq!(z.address(), HBM_BYTES - 2 * 65536, "{z:?}");
        assert_eq!(z.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf(), expected);
        let map = ctx.memory_map().to_string();
        assert!(map.contains("given back"), "{map}");
    });
}

/// A handle outlives its context: nothing holds the system but the context.
#[test]
fn a_handle_may_end_last() {
    let y = launched({
        #[device(chip = 1)]
        fn copied(ctx: &mut Context, x: &X) -> X {
            x.to_hbm(&mut ctx.tdma, AUTO)
        }
        copied
    });
    drop(y.expect("it runs"));
}

/// Bytes that a handle freed are taken again: the order between contexts is kept, and values are right.
#[test]
fn bytes_are_used_again() {
    #[device(chip = 1)]
    fn rounds(ctx: &mut Context, x: &X) -> X {
        let mut y = x.to_hbm::<{ Dma::Tensor }, m![A, B]>(&mut ctx.tdma, AUTO);
        let mut seen = Vec::new();
        for _round in 0..20 {
            let dm = y.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, AUTO);
            let sums = ctx
                .main
                .begin(dm.view())
                .fetch::<i32, m![B / 8], m![B % 8]>()
                .collect::<m![B / 8], m![B % 8]>()
                .vector_init()
                .vector_intra_slice_branch(BranchMode::Unconditional)
                .vector_fxp(FxpBinaryOp::AddFxp, 1)
                .vector_final()
                .commit::<m![B]>(AUTO);
            y = sums.to_hbm(&mut ctx.tdma, AUTO);
            seen.push((dm.address(), sums.address(), y.address()));
        }
        assert!(seen.iter().all(|own| (own.0, own.1) == (seen[0].0, seen[0].1)), "{seen:?}");
        assert_eq!(seen[0].2, seen[2].2, "of two tensors of HBM one is free");
        y
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<i32, m![A, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(rounds, (&mut *ctx, &x)).await;
        let expected: Vec<_> = numbers().into_iter().map(|v| Opt::Init(v + 20)).collect();
        assert_eq!(y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf(), expected);
    });
}

/// The first tensor that does not fit is refused at its line, and the message names the larger one.
#[test]
fn a_full_memory_names_who_holds_it() {
    #[device(chip = 1)]
    fn twice(ctx: &mut Context, x: &Big) {
        let first: BigDm = x.to_dm(&mut ctx.tdma, AUTO);
        drop(first);
        let again: BigDm = x.to_dm(&mut ctx.tdma, AUTO);
        let _second: BigDm = again.to_dm(&mut ctx.tdma, AUTO);
    }
    let fault = block_on(async {
        let mut ctx = Context::acquire();
        let x: Big = HostTensor::<i8, m![Q]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        try_launch(twice, (&mut *ctx, &x)).await.expect_err("two do not fit")
    });
    let text = fault.to_string();
    assert_eq!((fault.kind, fault.operation), (FaultKind::Capacity, "to_dm"));
    let part = "300000 bytes do not fit: of the 524288 bytes of DM at most 220160 are free in one piece";
    assert!(text.contains(part), "{text}");
    let note = &fault.places[0];
    assert_eq!((fault.places.len(), note.label.as_ref()), (1, "300000 bytes are held by what was made here"));
    assert!(
        note.location.file().ends_with("places.rs") && note.location.line() + 1 == fault.location.line(),
        "{text}"
    );
}

/// Who names what is there must say where.
#[test]
fn a_bare_handle_needs_an_address() {
    #[device(chip = 1)]
    #[allow(unsafe_code)] // It is refused.
    fn bare(_ctx: &mut Context, _x: &X) -> X {
        unsafe { HbmTensor::from_addr(AUTO) }
    }
    let text = launched(bare).expect_err("nothing is there").to_string();
    assert!(text.starts_with("fault: HbmTensor::from_addr: refused: `AUTO` names no bytes"), "{text}");
}

/// What is not a tensor goes in and out as well: tables, options, slices, vectors, text and data of the program.
#[test]
fn plain_data_are_arguments() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Layer {
        rounds: usize,
        scale: bf16,
    }
    impl DeviceSend for Layer {}

    #[device(chip = 1)]
    fn kernel(
        _ctx: &mut Context,
        (layers, table): (&[Layer], &LookupTable<i8, i8>),
        numbers: Vec<f32>,
        name: &str,
        tensors: [Option<&X>; 2],
    ) -> (Option<Layer>, String, Opt<i4>) {
        assert_eq!((layers.len(), numbers.len(), tensors.iter().flatten().count()), (2, 3, 1));
        assert_eq!(table[3], 6);
        (layers.last().copied(), name.to_owned(), Opt::Init(i4::from_i32(-3)))
    }
    let layers = [1, 2].map(|rounds| Layer { rounds, scale: bf16::from_f32(0.5) });
    let table = LookupTable::<i8, i8>::from_fn(|v| v.wrapping_mul(2));
    block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<i32, m![A, B]>::zero().to_hbm(&mut ctx.pdma, AUTO).await;
        let args = (&mut *ctx, (&layers[..], &table), vec![0.5; 3], "it", [Some(&x), None]);
        let result = launch(kernel, args).await;
        assert_eq!(result, (Some(layers[1]), "it".to_owned(), Opt::Init(i4::from_i32(-3))));
    });
}

/// A fetch that goes on over padding finds memory behind a tensor that lies at `AUTO`.
#[test]
fn padding_is_read_behind_a_tensor() {
    #[device(chip = 1)]
    fn padded(ctx: &mut Context, x: &HbmTensor<i32, m![1], m![A, R]>) -> HbmTensor<i32, m![1], m![A, R]> {
        let x = x.to_dm::<Cluster, m![A], m![R]>(&mut ctx.tdma, AUTO);
        let stream = ctx.main.begin(x.view()).fetch::<i32, m![1], m![R # 16]>();
        let y = stream.collect::<m![R # 16 / 8], m![R # 16 % 8]>().commit::<m![R # 16]>(AUTO);
        y.to_hbm(&mut ctx.tdma, AUTO)
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let host = HostTensor::<i32, m![A, R]>::from_buf((0..2560).map(Opt::Init).collect());
        let x = host.to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(padded, (&mut *ctx, &x)).await;
        assert_eq!(y.to_host::<m![A, R]>(&mut ctx.pdma).await.to_buf(), host.to_buf());
    });
}

/// Another name for the bytes of a tensor holds them as the tensor did.
#[test]
fn another_name_holds_the_bytes() {
    axes![Y = 64];
    #[device(chip = 1)]
    fn renamed(ctx: &mut Context, x: &X) -> HbmTensor<i32, m![1], m![A, Y]> {
        let first = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, AUTO);
        let first = first.relabel::<m![1], Cluster, m![A], m![Y]>();
        let second = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, AUTO);
        assert_eq!(
            (first.address(), second.address()),
            (DM_BYTES as u64 - 4096 - 256, DM_BYTES as u64 - 4096 - 512)
        );
        first.to_hbm::<m![A, Y]>(&mut ctx.tdma, AUTO).relabel()
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<i32, m![A, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(renamed, (&mut *ctx, &x)).await;
        let z: X = x.to_hbm(&mut ctx.tdma, AUTO);
        assert_ne!(y.address(), z.address());
        let expected: Vec<_> = numbers().into_iter().map(Opt::Init).collect();
        assert_eq!(y.to_host::<m![A, Y]>(&mut ctx.pdma).await.to_buf(), expected);
    });
}

/// A stream holds the bytes of its operands until it ends: a tensor that was named in passing is one.
#[test]
fn a_stream_holds_its_operands() {
    #[device(chip = 1)]
    fn twice(ctx: &mut Context, x: &X) -> X {
        let x = x.to_dm::<Cluster, m![A], m![B]>(&mut ctx.tdma, AUTO);
        let mut addresses = Vec::new();
        let mut load = || {
            let stream = ctx.sub.begin(x.view()).fetch::<i32, m![B / 8], m![B % 8]>();
            let loaded = stream.collect::<m![B / 8], m![B % 8]>().to_vrf::<m![B]>(AUTO);
            addresses.push(loaded.address());
            loaded
        };
        let stream = plus!(ctx, x, &load());
        let stream = stream.vector_clip(ClipBinaryOpI32::AddFxp, &load()).vector_final();
        let sums = stream.commit::<m![B]>(AUTO);
        let _after = load();
        assert_eq!(addresses, [8192 - 256, 8192 - 512, 8192 - 256], "free when the stream has ended");
        sums.to_hbm(&mut ctx.tdma, AUTO)
    }
    block_on(async {
        let mut ctx = Context::acquire();
        let x: X = HostTensor::<i32, m![A, B]>::from_buf(init(&numbers())).to_hbm(&mut ctx.pdma, AUTO).await;
        let y = launch(twice, (&mut *ctx, &x)).await;
        let expected: Vec<_> = numbers().into_iter().map(|v| Opt::Init(3 * v)).collect();
        assert_eq!(y.to_host::<m![A, B]>(&mut ctx.pdma).await.to_buf(), expected);
    });
}
