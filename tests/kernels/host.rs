//! Host tensors and their one-line usages.

use crate::{Cluster, assert_same, block_on, code, init, numbers, panic_message};
use furiosa_visa_std::prelude::*;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, TensorView};

/// Axes of another module.
mod dims {
    use furiosa_visa_std::prelude::*;
    axes![S_dec = 24];
}
use dims::S_dec as S;

axes![U = 2048, V = 8, W = 16, P = 7, Q = 12, Four = 4];
type Cl = Cluster;
type Sl = m![U / 8 # 256];

fn integers(seed: u32, count: usize) -> Vec<i32> {
    (0..count).map(|k| code(seed, k) as i32 % 1000).collect()
}

#[test]
fn sizes() {
    assert_eq!((<m![U, V]>::SIZE, <m![U / 8]>::SIZE, <m![P # 8, Q]>::SIZE), (16384, 256, 96));
    type Time = m![U, 1];
    assert_eq!((<m![{ Time }, V / 4]>::SIZE, <m![S / 4]>::SIZE), (4096, 6));
    assert_eq!(<m![S / 4]>::map(2), Some(i![S: 8]));
    let counted: Vec<Opt<i8>> = (0..<m![U, V]>::SIZE).map(|k| Opt::Init(k as i8)).collect();
    assert_eq!(HostTensor::<i8, m![U, V]>::from_buf(counted.clone()).to_buf(), counted);
}

#[test]
fn buffers_are_packed() {
    let values = integers(1, 84);
    // 84 elements, not the 96 positions of the mapping; more are ignored.
    let padded = Tensor::<i32, m![P # 8, Q]>::from_buf(init(&values));
    assert_same(&padded.to_buf(), &values);
    let mut more = init(&values);
    more.extend(vec![Opt::Init(-1); 12]);
    assert_eq!(Tensor::<i32, m![P # 8, Q]>::from_buf(more), padded);
    let inner = Tensor::<i32, m![P, Q # 16]>::from_buf(init(&values));
    assert_same(&inner.to_buf(), &values);
    assert_same(&inner.transpose::<m![P, Q]>(false).to_buf(), &values);
    let message = panic_message(|| Tensor::<i32, m![P # 8, Q]>::from_buf(vec![Opt::Init(0); 83]));
    assert!(message.contains("83") && message.contains("84"), "{message}");

    // In the order of the mapping.
    let turned = Tensor::<i32, m![Q, P]>::from_buf(init(&values)).transpose::<m![P, Q]>(false).to_buf();
    for (at, value) in turned.iter().enumerate() {
        assert_eq!(*value, Opt::Init(values[at % 12 * 7 + at / 12]));
    }
}

/// Plain values go to HBM in another order, and come back in a third one.
#[test]
fn slices_go_there_and_come_back() {
    fn check<D: Scalar>(values: &[D]) {
        let mut ctx = Context::acquire();
        let there = HostTensor::<D, m![P, Q, V]>::from_slice(values);
        let there = block_on(there.to_hbm::<m![1], m![V, P # 8, Q]>(&mut ctx.pdma, 64));
        assert_eq!(block_on(there.to_host::<m![P, Q, V]>(&mut ctx.pdma)).to_vec(), values);
        let turned: HostTensor<D, m![Q, V, P]> = block_on(there.to_host(&mut ctx.pdma));
        let mut found = vec![D::one(); values.len()];
        turned.copy_to_slice(&mut found);
        for (at, value) in found.iter().enumerate() {
            let (q, v, p) = (at / 56, at / 7 % 8, at % 7);
            assert_eq!(*value, values[(p * 12 + q) * 8 + v], "q {q}, v {v}, p {p}");
        }
    }
    let all = integers(4, 7 * 12 * 8);
    check(&all);
    check(&all.iter().map(|&k| k as i8).collect::<Vec<_>>());
    check(&all.iter().map(|&k| i4::from_i32(k)).collect::<Vec<_>>());
    check(&all.iter().map(|&k| bf16::from_f32(k as f32)).collect::<Vec<_>>());
}

/// What lies in HBM page by page comes back as a whole, and what nobody wrote there is named.
#[test]
fn long_tensors_go_as_they_are() {
    let values: Vec<i8> = (0..16 << 16).map(|k| code(5, k) as i8).collect();
    let mut ctx = Context::acquire();
    let there = HostTensor::<i8, m![U, V, W, Four]>::from_slice(&values);
    let there = block_on(there.to_hbm::<m![1], m![U, V, W, Four]>(&mut ctx.pdma, (1 << 20) - 4096));
    assert_eq!(block_on(there.to_host::<m![U, V, W, Four]>(&mut ctx.pdma)).to_vec(), values);
    let mut elements = init(&values);
    elements[99] = Opt::Uninit;
    let there = HostTensor::<i8, m![U, V, W, Four]>::from_buf(elements.clone());
    let there = block_on(there.to_hbm::<m![1], m![U, V, W, Four]>(&mut ctx.pdma, 1 << 21));
    assert_eq!(block_on(there.to_host::<m![U, V, W, Four]>(&mut ctx.pdma)).to_buf(), elements);
}

#[test]
fn zero_and_uninit() {
    let zero = HostTensor::<bf16, m![U, V]>::zero();
    assert!(zero.to_buf().iter().all(|x| *x == Opt::Init(bf16::from_f32(0.0))));
    let uninit = HostTensor::<bf16, m![U, V]>::uninit();
    assert!(uninit.to_buf().iter().all(|x| *x == Opt::Uninit));
    assert_ne!(zero, uninit);
    assert_eq!(i4::from_i32(3).to_i32(), 3);
    assert_eq!(f32::from(Opt::Init(bf16::from_f32(1.5)).unwrap()), 1.5);
}

#[test]
fn one_seed_gives_one_tensor() {
    let random = || SmallRng::seed_from_u64(7);
    let tensor = HostTensor::<bf16, m![U]>::rand(&mut random());
    assert_eq!(tensor, HostTensor::<bf16, m![U]>::rand(&mut random()));
    let other = HostTensor::<bf16, m![U]>::rand(&mut SmallRng::seed_from_u64(8));
    assert_ne!(tensor, other);
    assert!(tensor.to_buf().iter().all(|x| (-1.0..=1.0).contains(&f32::from(x.unwrap()))));

    // The mapping orders the buffer, not the numbers.
    let one = HostTensor::<i32, m![P, Q, V]>::rand(&mut random()).into_inner();
    let two = HostTensor::<i32, m![V, Q, P]>::rand(&mut random()).into_inner();
    let three = HostTensor::<i32, m![Q / 4, V, P # 8, Q % 4]>::rand(&mut random()).into_inner();
    assert_ne!(one.to_buf(), two.to_buf());
    assert_eq!(one.to_buf(), two.transpose::<m![P, Q, V]>(false).to_buf());
    assert_eq!(one.to_buf(), three.transpose::<m![P, Q, V]>(false).to_buf());
}

#[test]
fn safetensors() {
    let bytes: Vec<u8> = (0..256).map(|k| code(3, k) as u8).collect();
    let load = |dtype, shape: &[usize]| {
        let view = TensorView::new(dtype, shape.to_vec(), &bytes).expect("the view is sound");
        HostTensor::<bf16, m![V, W]>::from_safetensors(&view)
    };
    let tensor = load(Dtype::BF16, &[8, 16]).expect("it fits");
    for (k, value) in tensor.to_buf().iter().enumerate() {
        let bits = u32::from(bytes[2 * k]) | u32::from(bytes[2 * k + 1]) << 8;
        assert_eq!(Scalar::to_bits(value.unwrap()), bits);
    }
    let wrong = [
        load(Dtype::BF16, &[16, 8]),
        load(Dtype::BF16, &[128]),
        load(Dtype::BF16, &[8, 16, 1]),
        load(Dtype::F16, &[8, 16]),
        load(Dtype::F32, &[8, 8]),
        load(Dtype::I8, &[8, 32]),
    ];
    for result in wrong {
        assert!(matches!(result, Err(SafeTensorError::TensorInvalidInfo)));
    }
    let view = TensorView::new(Dtype::I8, vec![8, 32], &bytes).expect("the view is sound");
    assert!(HostTensor::<i8, m![V, W # 32]>::from_safetensors(&view).is_err(), "a file has no padding");
    // Parts of an axis are axes of the file.
    let view = TensorView::new(Dtype::I8, vec![4, 2, 32], &bytes).expect("the view is sound");
    let parts = HostTensor::<i8, m![V / 2, V % 2, W]>::from_safetensors(&view);
    assert!(parts.is_err(), "W is 16");
    let view = TensorView::new(Dtype::I8, vec![4, 2, 16], &bytes[..128]).expect("the view is sound");
    let parts = HostTensor::<i8, m![V / 2, V % 2, W]>::from_safetensors(&view).expect("it fits");
    let expected: Vec<i8> = bytes[..128].iter().map(|byte| *byte as i8).collect();
    assert_same(&parts.into_inner().transpose::<m![V, W]>(false).to_buf(), &expected);
}

#[test]
fn contraction() {
    axes![I = 20, J = 6, L = 9];
    let (a, b) = (integers(4, 180), integers(5, 54));
    let a_tensor = HostTensor::<i32, m![I, L]>::from_buf(init(&a));
    let b_tensor = HostTensor::<i32, m![L, J]>::from_buf(init(&b));
    let (left, right) = (a_tensor.into_inner(), b_tensor.into_inner());
    let product: Tensor<i32, m![J, I]> = Tensor::contraction::<m![I, J, L], _, _>(&left, &right);
    let mut expected = Vec::new();
    for j in 0..6 {
        for i in 0..20 {
            expected.push((0..9).map(|l| a[i * 9 + l] * b[l * 6 + j]).sum::<i32>());
        }
    }
    assert_same(&product.to_buf(), &expected);
}

#[test]
fn element_wise() {
    let (a, b) = (numbers::<i8>(6, 84), integers(7, 84));
    let t = HostTensor::<i8, m![P, Q]>::from_buf(init(&a));
    let o = Tensor::<i32, m![P, Q]>::from_buf(init(&b));
    let sums = t.into_inner().map(|x| x.map(|x| x as i32)).zip_with(&o, |a, b| a + b);
    let expected: Vec<i32> = a.iter().zip(&b).map(|(a, b)| i32::from(*a) + b).collect();
    assert_same(&sums.to_buf(), &expected);
    let holed = o.zip_with(&Tensor::<i32, m![P, Q]>::uninit(), |a, b| a + b);
    assert!(holed.to_buf().iter().all(|x| *x == Opt::Uninit));
}

#[test]
fn reductions() {
    let values = integers(8, 7 * 12 * 8);
    let t = || HostTensor::<i32, m![P, Q, V]>::from_buf(init(&values)).into_inner();
    let at = |p: usize, q: usize, v: usize| values[(p * 12 + q) * 8 + v];
    let most: Tensor<i32, m![P]> = t().reduce(|a, b| a.zip_map(b, i32::max), Opt::Init(i32::MIN));
    let expected: Vec<i32> = values.chunks(96).map(|part| *part.iter().max().expect("some")).collect();
    assert_same(&most.to_buf(), &expected);

    let sums: Tensor<i32, m![V, P]> = t().reduce_add();
    let mut expected = Vec::new();
    for v in 0..8 {
        for p in 0..7 {
            expected.push((0..12).map(|q| at(p, q, v)).sum::<i32>());
        }
    }
    assert_same(&sums.to_buf(), &expected);

    // Digits of an axis, and an order that matters.
    let folded: Tensor<i32, m![P, Q / 4, V]> =
        t().reduce(|a, b| a.zip_map(b, |a, b| a.wrapping_mul(31).wrapping_add(b)), Opt::Init(1));
    let mut expected = Vec::new();
    for p in 0..7 {
        for q in 0..3 {
            for v in 0..8 {
                let step = |a: i32, r: usize| a.wrapping_mul(31).wrapping_add(at(p, q * 4 + r, v));
                expected.push((0..4).fold(1, step));
            }
        }
    }
    assert_same(&folded.to_buf(), &expected);

    let all: Tensor<i32, m![1]> = t().reduce(|a, b| a.zip_map(b, i32::min), Opt::Init(i32::MAX));
    assert_eq!(all.to_buf(), [Opt::Init(*values.iter().min().expect("some"))]);
    let missing = Tensor::<i32, m![P, Q]>::uninit().reduce_add::<m![P]>();
    assert!(missing.to_buf().iter().all(|x| *x == Opt::Uninit));
}

#[test]
#[allow(unsafe_code)] // The interface marks `transmute` and `reshape`.
fn moves() {
    let values = integers(9, 128);
    let t = || HostTensor::<i32, m![V, W]>::from_buf(init(&values)).into_inner();
    let turned: Tensor<i32, m![W, V]> = t().transpose(false);
    let expected: Vec<i32> = (0..128).map(|k| values[k % 8 * 16 + k / 8]).collect();
    assert_same(&turned.to_buf(), &expected);
    let repeated: Tensor<i32, m![P, V, W]> = t().transpose(true);
    assert_same(&repeated.to_buf(), &values.repeat(7));
    let message = panic_message(|| t().transpose::<m![P, V, W]>(false));
    assert!(message.contains("broadcast"), "{message}");
    let message = panic_message(|| t().transpose::<m![V, W / 2]>(true));
    assert!(message.contains("W % 2") || message.contains("W"), "{message}");
    let declared = unsafe { t().transmute::<m![W, V]>() };
    assert_same(&declared.to_buf(), &expected);

    axes![Z = 128];
    let renamed = unsafe { t().reshape::<m![V, W], m![Z], m![Z]>() };
    assert_same(&renamed.to_buf(), &values);
}

/// A helper that takes a view.
fn load(
    ctx: &mut Context,
    x: HbmTensorView<'_, i32, m![1], m![U]>,
) -> DmTensor<i32, m![1], Cl, Sl, m![U % 8]> {
    x.to_dm::<Cl, Sl, m![U % 8]>(&mut ctx.tdma, 0)
}

/// Transfers, typed by their names or by the left-hand side.
#[device(chip = 1)]
fn transfers(
    ctx: &mut Context,
    x: &HbmTensor<i32, m![1], m![U]>,
    out: &mut HbmTensor<i32, m![1], m![U]>,
) -> HbmTensor<i32, m![1], m![U, V]> {
    let d = load(ctx, x.view());
    let e: DmTensor<i32, m![1], Cl, Sl, m![U % 8]> = d.to_dm(&mut ctx.tdma, 4096);
    let y: HbmTensor<i32, m![1], m![U % 8, U / 8]> = e.to_hbm(&mut ctx.tdma, 0x4000);
    y.view().to_hbm_view(&mut ctx.tdma, out.view_mut());
    // `V` is new: it repeats the tensor.
    out.to_hbm::<{ Dma::Tensor }, m![U, V]>(&mut ctx.tdma, 1 << 20)
}

#[test]
#[allow(unsafe_code)] // The kernel writes it.
fn host_programs() {
    let values = integers(10, 2048);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i32, m![U]>::from_buf(init(&values));
        let h: HbmTensor<i32, m![1], m![U]> = x.to_hbm(&mut ctx.pdma, 1 << 28).await;
        let mut o = unsafe { HbmTensor::<i32, m![1], m![U]>::from_addr(0x8000) };
        assert_eq!((o.address(), h.address()), (0x8000, 1 << 28));
        let repeated = launch(transfers, (&mut ctx, &h, &mut o)).await;
        assert_same(&o.to_host::<m![U]>(&mut ctx.pdma).await.to_buf(), &values);
        let turned = repeated.to_host::<m![V, U]>(&mut ctx.pdma).await.to_buf();
        assert_same(&turned, &values.repeat(8));
        let by_pcie = h.to_hbm::<{ Dma::Pcie }, m![U % 8, U / 8]>(&mut ctx.pdma, 1 << 29);
        assert_same(&by_pcie.to_host::<m![U]>(&mut ctx.pdma).await.to_buf(), &values);
    });
}

#[test]
fn layouts_of_one_host_tensor() {
    let values = integers(11, 2048 * 8);
    let found = block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i32, m![U, V]>::from_buf(init(&values));
        let x = x.to_hbm::<m![V / 4], m![U / 16, V % 4, U % 16 # 20]>(&mut ctx.pdma, 0x1000).await;
        x.to_host::<m![V, U]>(&mut ctx.pdma).await.to_buf()
    });
    let expected: Vec<i32> = (0..2048 * 8).map(|k| values[k % 2048 * 8 + k / 2048]).collect();
    assert_same(&found, &expected);
}

type One = HbmTensor<i32, m![1], m![V]>;

/// As many arguments as are in use: 20 tensors.
#[device(chip = 1)]
#[allow(clippy::too_many_arguments)] // The number of them is what is tested.
fn many(
    ctx: &mut Context,
    a: &One,
    b: &One,
    c: &One,
    d: &One,
    e: &One,
    f: &One,
    g: &One,
    h: &One,
    i: &One,
    j: &One,
    k: &One,
    l: &One,
    m: &One,
    n: &One,
    o: &One,
    p: &One,
    q: &One,
    r: &One,
    s: &One,
    t: &mut One,
) {
    let all = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r];
    assert!(all.iter().all(|tensor| tensor.address() == a.address()));
    s.view().to_hbm_view(&mut ctx.tdma, t.view_mut());
}

#[test]
#[allow(unsafe_code)] // The kernel writes it.
fn kernels_take_20_tensors() {
    let values = integers(12, 8);
    block_on(async {
        let mut ctx = Context::acquire();
        let x = HostTensor::<i32, m![V]>::from_buf(init(&values));
        let x = x.to_hbm::<m![1], m![V]>(&mut ctx.pdma, 0).await;
        let mut y = unsafe { One::from_addr(64) };
        let c = &mut *ctx;
        launch(many, (c, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &mut y))
            .await;
        assert_same(&y.to_host::<m![V]>(&mut ctx.pdma).await.to_buf(), &values);
    });
}
