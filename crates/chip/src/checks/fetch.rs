//! Rules that a fetch must keep before it is executed: the stages of its adapter, and interleaving.

use super::bounds::Call;
use core::ops::RangeInclusive;
use furiosa_visa_rules::command::{
    AdapterStage, CheckOptions, Fault, FaultKind, Fetch, Interleave, MaskConfig, Region, Table, TensorUnit,
};
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{ChipKind, DM_BYTES, FETCH_MASK_NIBBLES, SEQUENCER_ENTRIES};

/// Refuses a fetch that no adapter does, that the adapter of its context does not do, or that leaves DM.
pub(super) fn check(
    unit: &TensorUnit,
    kind: ChipKind,
    checks: &CheckOptions,
    call: Call,
) -> Result<(), Fault> {
    let fetch = &unit.fetch;
    let stored = fetch.source.footprint.element;
    if !stored.is_stored() {
        let message = format!("a tensor of {stored} is to be read, but no memory holds this type");
        return Err(call.fault(FaultKind::Unsupported, message, "store i4 or i8, and let fetch widen them"));
    }
    let stages =
        [(AdapterStage::Masking, fetch.mask.is_some()), (AdapterStage::Table, fetch.table.is_some())];
    for (stage, used) in stages {
        if used && checks.contexts && unit.sub_context && !stage.in_sub_context() {
            let message = format!("the sub context has no {stage}");
            return Err(call.fault(FaultKind::Unsupported, message, "fetch in the main context"));
        }
    }
    for source in fetch.sources() {
        from_the_first_address(source, fetch, call)?;
        if checks.bounds {
            to_the_last_address(source, fetch, call)?;
        }
    }
    if let Some(interleave) = &fetch.interleave {
        interleaved(interleave, fetch, call)?;
    }
    if let Some(mask) = &fetch.mask {
        masked(mask, fetch, call)?;
    }
    if let Some(table) = &fetch.table {
        indexed(table, stored, call)?;
    }
    let looked_up = fetch.table.as_ref().map_or(stored, |table| table.output);
    if !looked_up.fetch_outputs_on(kind).contains(&fetch.output) {
        let streamed = fetch.output;
        let message =
            format!("elements of type {looked_up} are to become {streamed}, which {kind} does not do");
        let help = match looked_up.fetch_outputs_on(ChipKind::RngdS).contains(&streamed) {
            true => "simulate chips that do: `ChipOptions { chip_kind: ChipKind::RngdS, .. }`",
            false => "choose another type or cast in two steps",
        };
        return Err(call.fault(FaultKind::Unsupported, message, help));
    }
    match fetch.zero_points {
        Some(zero_points) => subtracted(zero_points, looked_up, fetch.output, call),
        None => Ok(()),
    }
}

/// Refuses padding positions before the first byte of the memory. They are read as all others.
fn from_the_first_address(source: &Region, fetch: &Fetch, call: Call) -> Result<(), Fault> {
    let bits = source.footprint.element.bits() as i128;
    let before = -(fetch.config.first() as i128 * bits).div_euclid(8);
    let first = i128::from(source.address) - before;
    if first >= 0 {
        return Ok(());
    }
    let message = format!(
        "the stream starts {before} bytes before the tensor at {} address {}, at {first}, but the first address is 0; \
         the tensor can be at {before} or above",
        source.memory, source.address
    );
    let help = "put the tensor at a higher address, or give it the dead positions: `# n + …` in its Element";
    Err(call.fault(FaultKind::OutOfBounds, message, help))
}

/// Refuses positions behind the last byte of DM, padding included. A fetch may read past its tensor, but not past the
/// memory.
fn to_the_last_address(source: &Region, fetch: &Fetch, call: Call) -> Result<(), Fault> {
    let bits = source.footprint.element.bits() as i128;
    let bytes = ((fetch.config.last() as i128 + 1) * bits + 7).div_euclid(8);
    let (end, capacity) = (i128::from(source.address) + bytes, DM_BYTES as i128);
    if end <= capacity {
        return Ok(());
    }
    let place = if bytes <= capacity {
        format!("the tensor can be at {} or below", capacity - bytes)
    } else {
        format!("DM holds {capacity}")
    };
    let message = format!(
        "the stream reads {bytes} bytes from the tensor at {} address {} on, to {end}, but DM ends at {capacity}; {place}",
        source.memory, source.address
    );
    let help = "put the tensor at a lower address, or fetch fewer dead positions behind it";
    let first = i128::from(source.address).max(capacity) as u64;
    Err(call.fault(FaultKind::OutOfBounds, message, help).at(source.memory, 0, first..end as u64))
}

fn interleaved(interleave: &Interleave, fetch: &Fetch, call: Call) -> Result<(), Fault> {
    let (stored, other) = (fetch.source.footprint.element, interleave.source.footprint.element);
    if stored != other {
        let message = format!("a tensor of {stored} is to be interleaved with one of {other}");
        let help = "interleave tensors of one type";
        return Err(call.fault(FaultKind::Unsupported, message, help));
    }
    if interleave.period == 0 {
        let message = "two tensors are to take turns every 0 time steps".to_string();
        return Err(call.fault(FaultKind::Refused, message, "let them take turns every step, or less often"));
    }
    Ok(())
}

fn masked(mask: &MaskConfig, fetch: &Fetch, call: Call) -> Result<(), Fault> {
    let entries = fetch.config.entries.as_slice();
    let refused = |message: String| {
        let help = "use the mask that the plan of the fetch derives";
        Err(call.fault(FaultKind::Refused, format!("the mask ({mask}) {message}"), help))
    };
    let row = entries.last().map_or(1, |entry| entry.size);
    let dims = [Some(mask.last_dim), mask.rightmost_valid_count_dim];
    if let Some(dim) = dims.into_iter().flatten().find(|&dim| dim >= entries.len()) {
        return refused(format!("is about entry {dim}, but the sequencer has {} entries", entries.len()));
    }
    if entries.len() > SEQUENCER_ENTRIES {
        return refused(format!("needs {} entries, but a sequencer has {SEQUENCER_ENTRIES}", entries.len()));
    }
    if row == 0 || !fetch.packet.is_multiple_of(row) {
        return refused(format!("cuts rows of {row} elements, but packets have {}", fetch.packet));
    }
    let counts = mask.last_dim_rightmost_valid_count.as_slice();
    let wanted = mask.rightmost_valid_count_dim.map_or(1, |dim| entries[dim].size);
    if counts.len() != wanted {
        return refused(format!("has {} valid counts, but {wanted} indices", counts.len()));
    }
    let most = (FETCH_MASK_NIBBLES * 4 / fetch.source.footprint.element.bits()).min(row);
    if let Some(count) = counts.iter().chain([&mask.left_pad]).find(|&&count| count > most) {
        return refused(format!("counts {count} elements, but the most here is {most}"));
    }
    Ok(())
}

fn indexed(table: &Table, stored: ElementType, call: Call) -> Result<(), Fault> {
    if table.input != stored {
        let message = format!("elements of {stored} are to be looked up in a table for {}", table.input);
        let help = "make a table for the stored type";
        return Err(call.fault(FaultKind::Unsupported, message, help));
    }
    if stored.bits() > 8 || table.codes.len() != 1 << stored.bits() {
        let entries = table.codes.len();
        let message = format!("a table of {entries} entries is to be indexed by {stored}");
        let help = "use 256 entries for an 8-bit type, 16 for a 4-bit type; other types have no table";
        return Err(call.fault(FaultKind::Unsupported, message, help));
    }
    Ok(())
}

/// Range of an integer type from which zero points are subtracted. `None`: the output does not hold every difference.
fn range(stored: ElementType, output: ElementType) -> Option<RangeInclusive<i32>> {
    use ElementType::{I4, I5, I8, I9, I16, I32};
    match (stored, output) {
        (I4, I5 | I9 | I32) => Some(-8..=7),
        (I8, I9 | I32) => Some(-128..=127),
        (I16, I32) => Some(-32_768..=32_767),
        _ => None,
    }
}

fn subtracted(
    zero_points: [i32; 2],
    stored: ElementType,
    output: ElementType,
    call: Call,
) -> Result<(), Fault> {
    let Some(range) = range(stored, output) else {
        let message = format!("a zero point is to be subtracted from {stored} to give {output}");
        let help = "stream i32, or from i4 i5, from i8 i9: types that hold every difference";
        return Err(call.fault(FaultKind::Unsupported, message, help));
    };
    match zero_points.into_iter().find(|zero_point| !range.contains(zero_point)) {
        Some(zero_point) => {
            let (least, most) = range.into_inner();
            let message =
                format!("the zero point {zero_point} is no {stored}, which is from {least} to {most}");
            Err(call.fault(FaultKind::Refused, message, "use a zero point of the stored type"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::panic::Location;
    use furiosa_visa_rules::command::{Collect, FillId, Footprint, Memory, Sink};
    use furiosa_visa_rules::list::List;
    use furiosa_visa_rules::mapping::Guard;
    use furiosa_visa_rules::sequencer::{Config, Entry};

    fn region(element: ElementType) -> Region {
        let guard = Guard::always(4);
        let footprint = Footprint { element, chips: 1, clusters: 2, slices: 256, elements: 4096, guard };
        Region::whole(Memory::Dm, 0, FillId::ANY, footprint)
    }

    /// 4 packets of 2 rows of 32.
    fn unit(stored: ElementType, output: ElementType) -> TensorUnit {
        let mut config = Config::new(64);
        for (size, stride) in [(4, 64), (2, 32), (32, 1)] {
            config.entries.push(Entry { size, stride });
        }
        let sink =
            Sink::Commit { destination: region(output), config, commit_size: 8, guard: Guard::always(5) };
        let fetch = Fetch::new(region(stored), config, 4, 64, output);
        TensorUnit { collect: Some(Collect { flits: 2 }), ..TensorUnit::new(fetch, sink) }
    }

    fn outcome(unit: &TensorUnit) -> Result<(), (FaultKind, String)> {
        let call = Call { operation: "fetch", location: Location::caller() };
        check(unit, ChipKind::Rngd, &CheckOptions::ALL, call).map_err(|fault| (fault.kind, fault.to_string()))
    }

    #[track_caller]
    fn refused(unit: &TensorUnit, kind: FaultKind, part: &str) {
        let (found, text) = outcome(unit).expect_err("it is refused");
        assert!(found == kind && text.contains(part), "{text}");
    }

    fn mask(last_dim: usize, dim: Option<usize>, counts: &[usize], left_pad: usize) -> MaskConfig {
        let mut list = List::new(0);
        counts.iter().for_each(|&count| list.push(count));
        let (last_dim_rightmost_valid_count, rightmost_valid_count_dim, pad_value) = (list, dim, [0; 2]);
        MaskConfig {
            last_dim,
            left_pad,
            last_dim_rightmost_valid_count,
            rightmost_valid_count_dim,
            pad_value,
        }
    }

    #[test]
    fn masks_at_their_limits() {
        let with = |mask, stored| {
            let mut unit = unit(stored, stored);
            unit.fetch.mask = Some(mask);
            unit
        };
        use ElementType::{F32, I8};
        assert_eq!(outcome(&with(mask(2, Some(0), &[1, 2, 3, 32], 32), I8)), Ok(()));
        assert_eq!(outcome(&with(mask(0, None, &[31], 31), F32)), Ok(()));
        refused(&with(mask(0, None, &[32], 0), F32), FaultKind::Refused, "the most here is 31");
        refused(&with(mask(0, None, &[0], 33), I8), FaultKind::Refused, "the most here is 32");
        refused(&with(mask(3, None, &[1], 0), I8), FaultKind::Refused, "entry 3, but the sequencer has 3");
        refused(&with(mask(0, Some(3), &[1], 0), I8), FaultKind::Refused, "entry 3");
        refused(&with(mask(0, Some(0), &[1; 3], 0), I8), FaultKind::Refused, "3 valid counts, but 4 indices");
        let mut odd = with(mask(0, None, &[1], 0), I8);
        odd.fetch.packet = 48;
        refused(&odd, FaultKind::Refused, "rows of 32 elements, but packets have 48");
        let mut nine = with(mask(0, None, &[1], 0), I8);
        (0..6).for_each(|_| nine.fetch.config.entries.insert(0, Entry { size: 1, stride: 0 }));
        refused(&nine, FaultKind::Refused, "needs 9 entries");
        let mut sub = with(mask(0, None, &[1], 0), I8);
        sub.sub_context = true;
        refused(&sub, FaultKind::Unsupported, "the sub context has no masking");
    }

    #[test]
    fn no_byte_before_the_memory_is_read() {
        use ElementType::{F32, I4, I8};
        let at = |stored, base, address, second| {
            let mut unit = unit(stored, stored);
            unit.fetch.config.base = base;
            unit.fetch.source.address = address;
            unit.fetch.interleave =
                Some(Interleave { source: Region { address: second, ..region(stored) }, period: 1 });
            unit
        };
        assert_eq!(outcome(&at(I8, -2, 2, 2)), Ok(()));
        refused(
            &at(I8, -2, 1, 2),
            FaultKind::OutOfBounds,
            "starts 2 bytes before the tensor at DM address 1, at -1, but the first address is 0; the tensor can be at 2",
        );
        refused(&at(I8, -2, 2, 0), FaultKind::OutOfBounds, "before the tensor at DM address 0, at -2");
        assert_eq!(outcome(&at(F32, -3, 12, 12)), Ok(()));
        refused(&at(F32, -3, 11, 12), FaultKind::OutOfBounds, "starts 12 bytes before");
        assert_eq!(outcome(&at(I4, -4, 2, 2)), Ok(()));
        refused(&at(I4, -4, 1, 2), FaultKind::OutOfBounds, "starts 2 bytes before");
        assert_eq!(outcome(&at(I8, 5, 0, 0)), Ok(()));
        // A loop with a negative stride counts, too.
        let mut back = at(I8, -1, 192, 192);
        back.fetch.config.entries.set(0, Entry { size: 4, stride: -64 });
        refused(&back, FaultKind::OutOfBounds, "starts 193 bytes before");
    }

    #[test]
    fn no_byte_behind_the_memory_is_read() {
        use ElementType::{F32, I4, I8};
        let at = |stored, address, second| {
            let mut unit = unit(stored, stored);
            unit.fetch.source.address = address;
            unit.fetch.interleave =
                Some(Interleave { source: Region { address: second, ..region(stored) }, period: 1 });
            unit
        };
        let end = DM_BYTES as u64;
        assert_eq!(outcome(&at(I8, end - 256, end - 256)), Ok(()));
        refused(
            &at(I8, end - 255, 0),
            FaultKind::OutOfBounds,
            "reads 256 bytes from the tensor at DM address 524033 on, to 524289, but DM ends at 524288; the tensor can be at \
             524032 or below",
        );
        refused(&at(I8, 0, end - 255), FaultKind::OutOfBounds, "the tensor at DM address 524033");
        assert_eq!(outcome(&at(F32, end - 1024, 0)), Ok(()));
        refused(&at(F32, end - 1020, 0), FaultKind::OutOfBounds, "to 524292");
        assert_eq!(outcome(&at(I4, end - 128, 0)), Ok(()));
        refused(&at(I4, end - 127, 0), FaultKind::OutOfBounds, "reads 128 bytes");
        // A loop that does not advance reads no more than once.
        let mut still = at(I8, end - 64, end - 64);
        still.fetch.config.entries.set(0, Entry { size: 4, stride: 0 });
        assert_eq!(outcome(&still), Ok(()));
        let mut huge = at(I8, 0, 0);
        huge.fetch.config.entries.set(0, Entry { size: 4, stride: 1 << 20 });
        refused(&huge, FaultKind::OutOfBounds, "DM holds 524288");
        let call = Call { operation: "fetch", location: Location::caller() };
        let off = CheckOptions { bounds: false, ..CheckOptions::ALL };
        assert_eq!(check(&huge, ChipKind::Rngd, &off, call), Ok(()));
    }

    #[test]
    fn what_no_memory_holds_is_not_read() {
        use ElementType::{I5, I8, I9};
        refused(&unit(I9, I9), FaultKind::Unsupported, "no memory holds");
        let mut table = unit(I5, I8);
        table.fetch.table = Some(Table { input: I5, output: I8, codes: vec![0; 16].into() });
        refused(&table, FaultKind::Unsupported, "no memory holds");
    }

    #[test]
    fn tables_match_the_stored_type() {
        let with = |input, output, entries: usize, stored| {
            let mut unit = unit(stored, output);
            unit.fetch.table = Some(Table { input, output, codes: vec![0; entries].into() });
            unit
        };
        use ElementType::{Bf16, F32, I4, I8, I16};
        assert_eq!(outcome(&with(I8, Bf16, 256, I8)), Ok(()));
        assert_eq!(outcome(&with(I4, F32, 16, I4)), Ok(()));
        refused(&with(I8, Bf16, 255, I8), FaultKind::Unsupported, "255 entries");
        refused(&with(I8, Bf16, 257, I8), FaultKind::Unsupported, "257 entries");
        refused(&with(I4, Bf16, 16, I8), FaultKind::Unsupported, "a table for i4");
        refused(&with(I16, Bf16, 65536, I16), FaultKind::Unsupported, "indexed by i16");
        let mut sub = with(I8, Bf16, 256, I8);
        sub.sub_context = true;
        refused(&sub, FaultKind::Unsupported, "the sub context has no table indexing");
        let mut cast = with(I8, Bf16, 256, I8);
        cast.fetch.output = ElementType::I32;
        refused(&cast, FaultKind::Unsupported, "bf16 are to become i32");
    }

    #[test]
    fn zero_points_are_of_the_stored_type() {
        use ElementType::{F8e4m3, F32, I4, I5, I8, I9, I16, I32, U8};
        let ranges = [
            (I4, I32, -8, 7),
            (I4, I5, -8, 7),
            (I8, I32, -128, 127),
            (I8, I9, -128, 127),
            (I16, I32, -32_768, 32_767),
        ];
        for (stored, output, least, most) in ranges {
            let mut unit = unit(stored, output);
            for sub_context in [false, true] {
                unit.sub_context = sub_context;
                unit.fetch.zero_points = Some([least, most]);
                assert_eq!(outcome(&unit), Ok(()));
            }
            for wrong in [[least - 1, 0], [most + 1, 0], [0, least - 1], [0, most + 1]] {
                unit.fetch.zero_points = Some(wrong);
                refused(&unit, FaultKind::Refused, &format!("from {least} to {most}"));
            }
        }
        for (stored, output) in [(I8, I8), (U8, U8), (I32, I32), (F8e4m3, F32)] {
            let mut unit = unit(stored, output);
            unit.fetch.zero_points = Some([0, 0]);
            refused(&unit, FaultKind::Unsupported, "a zero point is to be subtracted");
        }
    }

    #[test]
    fn interleaved_tensors_are_alike() {
        let mut unit = unit(ElementType::I8, ElementType::I8);
        let with = |element, period| Some(Interleave { source: region(element), period });
        unit.fetch.interleave = with(ElementType::I8, 1);
        assert_eq!(outcome(&unit), Ok(()));
        unit.fetch.interleave = with(ElementType::U8, 1);
        refused(&unit, FaultKind::Unsupported, "a tensor of i8 is to be interleaved with one of u8");
        unit.fetch.interleave = with(ElementType::I8, 0);
        refused(&unit, FaultKind::Refused, "every 0 time steps");
    }
}
