//! The form of a command: the rules for having a meaning at all. Commands that follow from types keep them; commands
//! that are built by hand need not. No switch turns these rules off, because all other rules depend on them.

mod site;
mod switch;
mod vector;

use super::bounds::Call;
use core::panic::Location;
use furiosa_visa_rules::command::{
    CommitNarrowing, Contraction, Dma, Fault, FaultKind, HostTransfer, IndexedDma, Inspection, Memset,
    Operation, Place, Sink, Start, StreamShape, TensorUnit, Transfer, Transpose, UnitCopy,
};
use furiosa_visa_rules::engine::memset::MEMSET_ELEMENTS;
use furiosa_visa_rules::scalar::ElementType;
use furiosa_visa_rules::spec::{
    FLIT_BYTES, MAX_CHIPS, REGISTER_READ_SIZES, TRANSPOSE_COLUMNS, TRANSPOSE_ROW_BYTES, TRF_BYTES,
};
use furiosa_visa_rules::text::Text;
use site::Form;

/// Limit for positions, strides, sizes and addresses, so that sums of products fit 64 bits.
const MOST: u64 = 1 << 44;

/// Limit for elements of a tensor in a slice (far beyond its memory, for padding) and for slots of an accumulator.
const MOST_IN_SLICE: u64 = 1 << 24;

/// Refuses a command without a meaning.
pub(crate) fn operation(operation: &Operation, location: &'static Location<'static>) -> Result<(), Fault> {
    match operation {
        Operation::Dma(dma) => transferred(dma, Form { operation: "DMA", location }),
        Operation::TensorUnit(unit) => pass(unit, location),
        Operation::UnitCopy(copy) => copied(copy, Form { operation: copy.call.name(), location }),
        Operation::Indexed(dma) => indexed(dma, Form { operation: dma.call.name(), location }),
        Operation::Memset(memset) => set(memset, Form { operation: Memset::CALL, location }),
    }
}

/// Refuses a transfer with the host without a meaning.
pub(crate) fn host(host: &HostTransfer, upload: bool, call: Call) -> Result<(), Fault> {
    let form = Form { operation: call.operation, location: call.location };
    form.region(&host.region)?;
    form.stored(host.region.footprint.element)?;
    form.transfer(&host.transfer)?;
    form.host_array(&host.transfer, host.host_elements, upload)
}

/// Refuses an inspection without a meaning.
pub(crate) fn inspection(inspection: &Inspection, call: Call) -> Result<(), Fault> {
    let form = Form { operation: call.operation, location: call.location };
    match &inspection.source {
        Place::Trf(region) => {
            form.trf(region)?;
            form.stored(region.element)?;
        }
        Place::Region(region) => {
            form.region(region)?;
            form.stored(region.footprint.element)?;
        }
    }
    form.transfer(&inspection.transfer)?;
    form.host_array(&inspection.transfer, inspection.host_elements, false)
}

fn transferred(dma: &Dma, form: Form) -> Result<(), Fault> {
    form.region(&dma.source)?;
    form.region(&dma.destination)?;
    form.stored(dma.source.footprint.element)?;
    let (from, to) = (dma.source.footprint.element, dma.destination.footprint.element);
    form.same(from, to, "is to be moved to a tensor of")?;
    form.transfer(&dma.transfer)
}

/// Refuses a copy with more parts than there are chips, or by a context that has no such call.
fn copied(copy: &UnitCopy, form: Form) -> Result<(), Fault> {
    let UnitCopy { call, context, source, destination, moves } = copy;
    if !call.is_of(*context) {
        let message = format!("the context `{context}` is to copy, but it has no such call");
        return Err(form.refused(message, "give shuffles to `tdma`, and parallel copies to `sub`"));
    }
    if moves.len() > MAX_CHIPS {
        let message = format!("the copy has {} parts, but there are at most {MAX_CHIPS} chips", moves.len());
        return Err(form.refused(message, "give each chip or cluster one part"));
    }
    form.region(source)?;
    form.region(destination)?;
    form.stored(source.footprint.element)?;
    form.same(source.footprint.element, destination.footprint.element, "is to be copied to a tensor of")?;
    moves.iter().try_for_each(|transfer| form.transfer(transfer))
}

/// Refuses an immediate that holds no value of its tensor, and loops that read.
fn set(memset: &Memset, form: Form) -> Result<(), Fault> {
    let Memset { destination, immediate, moves } = memset;
    form.region(destination)?;
    let element = destination.footprint.element;
    if !MEMSET_ELEMENTS.contains(&element) {
        let message = format!("a value of {element} is no immediate of the sub context");
        let help = "set a tensor of i4, i8, i16, i32, f8e4m3, bf16 or f32";
        return Err(Fault::new(FaultKind::Unsupported, form.operation, form.location, message, help));
    }
    if Memset::immediate(*immediate, element.bits()) != *immediate {
        let message = format!("the immediate {immediate:#010x} is no value of {element} several times");
        return Err(form.refused(message, "repeat the code of one value"));
    }
    form.transfer(moves)?;
    let alike = moves.source_start == moves.destination_start
        && moves.loops.iter().all(|step| step.source == step.destination);
    if !alike {
        let message = "the loops step apart on the side of the source, but nothing is read".to_string();
        return Err(form.refused(message, "give both sides the steps of the destination"));
    }
    Ok(())
}

/// Refuses a table without rows, and loops of rows or of their payload without a meaning.
fn indexed(dma: &IndexedDma, form: Form) -> Result<(), Fault> {
    let IndexedDma { source, destination, index, rows, payload, count, stride, scale, .. } = dma;
    for region in [source, destination, index] {
        form.region(region)?;
    }
    form.stored(source.footprint.element)?;
    form.same(source.footprint.element, destination.footprint.element, "is to be moved to a tensor of")?;
    form.same(index.footprint.element, ElementType::I32, "is an index, which holds")?;
    let reach = (*count as u64).checked_mul((*stride).max(*scale) as u64);
    if *count == 0 || *scale == 0 || reach.is_none_or(|reach| reach >= MOST) {
        let message = format!("{count} rows, {stride} elements and {scale} numbers apart, are no table");
        return Err(form.refused(message, "use the rows that the mappings give"));
    }
    form.transfer(rows)?;
    form.transfer(&Transfer { source_start: Start::FIRST, destination_start: Start::FIRST, ..*payload })?;
    let all =
        if dma.call.gathers() { [dma.spread(), dma.all_rows()] } else { [dma.all_rows(), dma.spread()] };
    if all.iter().any(|transfer| {
        transfer.loops.overflowed() || transfer.guard.digits.overflowed() || transfer.guard.sums.overflowed()
    }) {
        let message = "the loops of the rows and of their payload are more than a move has".to_string();
        return Err(form.refused(message, "use the loops that the mappings give"));
    }
    all.iter().try_for_each(|transfer| form.transfer(transfer))
}

fn pass(unit: &TensorUnit, location: &'static Location<'static>) -> Result<(), Fault> {
    let form = |operation| Form { operation, location };
    let fetch = form("fetch");
    for source in unit.fetch.sources() {
        fetch.in_its_slice(source)?;
    }
    let (time, packet) = (unit.fetch.time, unit.fetch.packet);
    let positions = fetch.config(&unit.fetch.config)?;
    fetch.access_size(unit.fetch.fetch_size)?;
    if packet == 0 || time.checked_mul(packet) != Some(positions) {
        let message =
            format!("the sequencer visits {positions} positions for {time} packets of {packet} elements");
        return Err(fetch.refused(message, "let the loops visit every element of every packet"));
    }
    if let Some(switch) = &unit.switch {
        form("switch").switch(switch, time)?;
    }
    let lanes = FLIT_BYTES * 8 / unit.fetch.output.bits();
    let flits = unit.collect.map_or(1, |collect| collect.flits);
    let held = flits.checked_mul(lanes).filter(|&held| (held as u64) < MOST);
    if flits == 0 || held.is_none_or(|held| held < packet) {
        let flits = Text::new().count(flits, "flit");
        let message = format!("packets of {packet} elements are to be held by {flits} of {lanes}");
        return Err(form("collect").refused(message, "collect as many flits as a packet needs"));
    }
    let shapes = unit.shapes();
    let time = shapes.switched.time;
    // Packets and flits are each below the limit, but their product need not be.
    if (time as u64).saturating_mul(flits as u64) >= MOST {
        let message = format!("{time} packets of {flits} flits are a stream without an end");
        return Err(form("collect").refused(message, "use fewer time steps"));
    }
    if let Some(contraction) = &unit.contraction {
        contracted(contraction, shapes.collected.time, form("contraction"))?;
    }
    if let Some(vector) = &unit.vector {
        vector::program(vector, shapes.contracted, form("vector"))?;
    }
    if let Some(cast) = &unit.cast {
        let call = form("cast");
        call.same(shapes.vector.element, cast.input, "is to be cast as a stream of")?;
        if cast.output.bits() > cast.input.bits() {
            let message = format!(
                "a flit of {} is to become {}, which takes more than a flit",
                cast.input, cast.output
            );
            let help = "widen in fetch: cast narrows";
            return Err(Fault::new(FaultKind::Unsupported, "cast", location, message, help));
        }
    }
    if let Some(transpose) = &unit.transpose {
        let form = form("transpose");
        let StreamShape { element, lanes, .. } = shapes.contracted;
        if lanes * element.bits() != 8 * FLIT_BYTES {
            let message = format!("packets of {lanes} {element} are to be transposed, but they are no flits");
            return Err(form.refused(message, "collect the packets first"));
        }
        transposed(transpose, shapes.cast, form)?;
    }
    if let Some(narrowing) = unit.narrowing {
        let form = form(narrowing.name());
        form.same(shapes.transposed.element, CommitNarrowing::INPUT, "is to be narrowed as a stream of")?;
        if !matches!(unit.sink, Sink::Commit { .. }) {
            let message = format!("a stream is to be narrowed that ends in {}", unit.sink.operation());
            return Err(form.refused(message, "end the stream in a commit, or cast it before"));
        }
    }
    ended(&unit.sink, shapes.ended, location)
}

/// Refuses a transpose of a stream of this shape without a meaning.
fn transposed(transpose: &Transpose, stream: StreamShape, form: Form) -> Result<(), Fault> {
    form.same(stream.element, transpose.element, "is to be transposed as a stream of")?;
    form.stored(transpose.element)?;
    let Transpose { element, in_rows, in_cols, out_rows, iterations } = transpose;
    let refused = |message: String| Err(form.refused(message, "let the matrices follow from the mappings"));
    let (per_packet, packets) = (Transpose::packet_elements(*element), transpose.packets_per_col());
    let row_bits = in_rows.checked_mul(element.bits());
    if *in_rows == 0 || row_bits.is_none_or(|bits| bits % 8 != 0 || bits > 8 * TRANSPOSE_ROW_BYTES) {
        return refused(format!("matrices of {in_rows} rows of {element}, but the rows fill 1 to 8 bytes"));
    }
    if !TRANSPOSE_COLUMNS.contains(in_cols) || packets == 0 {
        return refused(format!("matrices of {in_cols} columns, taken from packets by {per_packet}"));
    }
    if *out_rows == 0 || !out_rows.is_multiple_of(packets) || out_rows > in_cols {
        return refused(format!("{in_cols} columns in {packets} packets become {out_rows} packets"));
    }
    if iterations.checked_mul(transpose.in_flits()) != Some(stream.time) {
        let flits = Text::new().count(transpose.in_flits(), "flit");
        return refused(format!(
            "{iterations} matrices of {flits} are not the {} of the stream",
            stream.time
        ));
    }
    Ok(())
}

/// Refuses a contraction of `flits` flits without a meaning.
fn contracted(contraction: &Contraction, flits: usize, form: Form) -> Result<(), Fault> {
    form.trf(&contraction.trf)?;
    form.guard(&contraction.stream_guard, 5)?;
    form.guard(&contraction.step_guard, 2)?;
    let reads = form.config(&contraction.trf_config)?;
    let slots = form.config(&contraction.slots)?;
    let refused = |message: String| Err(form.refused(message, "let the stages follow from the mappings"));
    let Contraction { collect_flits, tile, steps, depth, columns, slot_count, .. } = contraction;
    if !(1..=2).contains(collect_flits) || *tile == 0 || *columns == 0 {
        return refused(format!(
            "packets of {} are used {} for {}",
            Text::new().count(*collect_flits, "flit"),
            Text::new().count(*tile, "time"),
            Text::new().count(*columns, "column"),
        ));
    }
    let used = (flits / collect_flits).checked_mul(*tile);
    if !flits.is_multiple_of(*collect_flits) || used != Some(*steps) || *steps as u64 >= MOST {
        return refused(format!(
            "{flits} flits in packets of {collect_flits}, each used {tile} times, are not {steps} steps"
        ));
    }
    let products = 2 * FLIT_BYTES * 8 / contraction.trf.element.bits();
    if *depth > products.ilog2() as usize || *columns > products >> depth {
        return refused(format!(
            "{products} products summed in {depth} levels do not give {}",
            Text::new().count(*columns, "column")
        ));
    }
    let inside = contraction.slots.first() >= 0 && contraction.slots.last() < *slot_count as isize;
    if slots != *steps || *slot_count as u64 >= MOST_IN_SLICE || !inside {
        return refused(format!(
            "{steps} steps go to {slots} places in {slot_count} slots of the accumulator"
        ));
    }
    let read_elements = contraction.trf_config.packet_size;
    let last = contraction.trf_config.last();
    // Steps of padding may read behind the tensor, but not behind the registers.
    if last >= 2 * TRF_BYTES as isize || read_elements > products {
        return refused(format!(
            "{read_elements} elements from byte {last} of a row are read, which has fewer"
        ));
    }
    let read_bits = read_elements * contraction.trf.element.bits();
    if !REGISTER_READ_SIZES.iter().any(|bytes| bytes * 8 == read_bits) {
        return refused(format!(
            "{read_elements} elements of {}, {read_bits} bits in all, are read at a time, but a read has 1, 2, 4, 8, 16, \
             32 or 64 bytes",
            contraction.trf.element
        ));
    }
    let reads_whole = reads.is_multiple_of(*steps) && contraction.trf_config.first() >= 0;
    if *steps > 0 && !reads_whole {
        return refused(format!(
            "{steps} steps read {reads} times {read_elements} elements of the register file"
        ));
    }
    Ok(())
}

/// Refuses a sink without a meaning for a stream of this shape.
fn ended(
    sink: &Sink,
    StreamShape { element, time, lanes }: StreamShape,
    location: &'static Location<'static>,
) -> Result<(), Fault> {
    let form = |operation| Form { operation, location };
    match sink {
        Sink::Commit { destination, config, guard, commit_size } => {
            let form = form("commit");
            form.access_size(*commit_size)?;
            form.in_its_slice(destination)?;
            form.guard(guard, 5)?;
            // An element that no memory holds is refused later.
            if element.is_stored() {
                form.same(element, destination.footprint.element, "is to be committed to a tensor of")?;
            }
            let (positions, window) = (form.config(config)?, config.packet_size);
            if time.checked_mul(window) != Some(positions) || window > lanes {
                let message = format!(
                    "the sequencer visits {positions} positions for {window} of {lanes} lanes in {time} time steps"
                );
                return Err(form.refused(message, "let the loops visit every lane that is committed"));
            }
            Ok(())
        }
        Sink::Trf { destination, guard } => {
            let form = form("to_trf");
            form.trf(destination)?;
            form.guard(guard, 5)?;
            form.same(element, destination.element, "is to be loaded as a tensor of")
        }
        Sink::Vrf { destination, transfer, guard } => {
            let form = form("to_vrf");
            form.in_its_slice(destination)?;
            form.guard(guard, 5)?;
            form.same(element, destination.footprint.element, "is to be loaded as a tensor of")?;
            form.transfer(transfer)?;
            let crosses = |start: Start| start.units != 0;
            let steps = transfer
                .loops
                .iter()
                .any(|transfer_loop| transfer_loop.source.units > 0 || transfer_loop.destination.units > 0);
            if steps || crosses(transfer.source_start) || crosses(transfer.destination_start) {
                let message = "the loops go from one slice to another".to_string();
                return Err(form.refused(message, "keep all loops inside a slice"));
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
