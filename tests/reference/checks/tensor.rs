use reference::mapping::Map;
use reference::tensor::*;

#[test]
fn placing_and_collecting_are_inverse() {
    let axes = &[("A", 3), ("B", 5)];
    let tensor = MathTensor::from_fn(axes, |_, k| k as i64);
    let dims =
        [Map::parse("1 # 2", axes), Map::parse("[A, B] # 16 / 4", axes), Map::parse("[A, B] # 16 % 4", axes)];
    let dims: Vec<&Map> = dims.iter().collect();
    let values = place(&tensor, &dims);
    assert_eq!(values[..15], (0..15).map(Some).collect::<Vec<_>>());
    assert!(values[15..].iter().all(Option::is_none));
    assert_eq!(collect_from(&dims, &values), Ok(tensor.clone()));
    assert!(collect_from(&dims, &values[1..]).is_err());
}

#[test]
fn foreign_axes_repeat_the_tensor() {
    let axes = &[("A", 2), ("T", 2)];
    let tensor = MathTensor::from_fn(&axes[..1], |_, k| k);
    let values = place(&tensor, &[&Map::parse("T, A # 3", axes)]);
    assert_eq!(values, [Some(0), Some(1), None, Some(0), Some(1), None]);
}
