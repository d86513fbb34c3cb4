// SPDX-License-Identifier: GPL-2.0

//! The faults that the verifier must find: each test plants one into a sound run.

// Snapshots are built by what tests of the decoder build them with.
#[allow(dead_code, missing_docs, unreachable_pub)]
#[path = "../../../tools/blog-decode/tests/common"]
mod common {
    pub(crate) mod kernel;
    pub(crate) mod snapshot;
}

use blog_file::snapshot::Snapshot;
use blog_table::source::Source;
use blog_torture_verify::{
    account::{verify, Options, Totals},
    expected,
    report::Report,
    truth::Truth,
    walk::{Form, Forms},
};
use common::snapshot::{Builder, Page, Ring, BOOT_ID};

const NAME: &str = "torture";
/// Most bytes of a payload.
const MAX: u32 = 200;
const WORKER: u32 = 7;
const OTHER: u32 = 8;
const TIMER: u32 = 1;
const PID: i32 = 100;
const OTHER_PID: i32 = 101;

/// Which site makes a record.
fn site(form: Form) -> u32 {
    match form {
        Form::Short => 1,
        Form::Bytes => 2,
        Form::Text => 3,
    }
}

fn forms() -> Forms {
    Forms::known(vec![None, Some(Form::Short), Some(Form::Bytes), Some(Form::Text)])
}

/// A ring under construction.
#[derive(Clone)]
struct Plan {
    ring: Ring,
    pages: Vec<Page>,
    clock: u64,
}

impl Plan {
    fn new(ring: Ring, first: u64) -> Self {
        let page = Page::new(ring.ring, 1, 1000, first);
        Self { ring, pages: vec![page], clock: 1000 }
    }

    fn page(&mut self) -> &mut Page {
        self.pages.last_mut().unwrap()
    }

    fn log(&mut self, writer: u32, seq: u32) -> &mut Self {
        let (form, bytes) = expected::record(NAME, writer, seq, MAX);
        self.raw(form, &bytes)
    }

    fn raw(&mut self, form: Form, bytes: &[u8]) -> &mut Self {
        self.clock += 10;
        let clock = self.clock;
        self.page().raw_record(clock, site(form), bytes);
        self.ring.records = self.page().first + u64::from(self.page().records());
        self
    }

    fn lost(&mut self, cause: usize, count: u64) -> &mut Self {
        let clock = self.clock;
        self.page().lost(clock, cause as u8, count);
        self.ring.lost[cause] += count;
        self.ring.told[cause] += count;
        self
    }

    fn turn(&mut self) -> &mut Self {
        let (first, clock, ring) = (self.ring.records, self.clock, self.ring.ring);
        let seq = self.pages.len() as u64 + 1;
        self.pages.push(Page::new(ring, seq, clock, first));
        self
    }
}

/// The other worker's ring, with these records.
fn other(seqs: impl IntoIterator<Item = u32>) -> Plan {
    let mut plan = Plan::new(Ring::task(1, 2, OTHER_PID, "other"), 0);
    for seq in seqs {
        plan.log(OTHER, seq);
    }
    plan
}

/// A whole run: rings of two workers and of a timer.
#[derive(Clone)]
struct Case {
    worker: Plan,
    other: Plan,
    timer: Plan,
    shared: Option<Plan>,
    gone: u64,
    loose: [u64; 8],
    truth: String,
    options: Options,
}

impl Case {
    /// 30 records of a worker over two pages, 20 of another, 10 of a timer: all there.
    fn sound() -> Self {
        let mut worker = Plan::new(Ring::task(1, 1, PID, "worker"), 0);
        for seq in 0..30 {
            if seq == 15 {
                worker.turn();
            }
            worker.log(WORKER, seq);
        }
        let mut timer = Plan::new(Ring::softirq(1, 3, 0), 0);
        for seq in 0..10 {
            timer.log(TIMER, seq);
        }
        Self {
            worker,
            other: other(0..20),
            timer,
            shared: None,
            gone: 0,
            loose: [0; 8],
            truth: truth(30, 20, 10),
            options: Options::default(),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut b = Builder::new();
        b.system(BOOT_ID);
        b.component_of(1, NAME, self.gone, self.loose, 0);
        for plan in [&self.worker, &self.other, &self.timer].into_iter().chain(&self.shared) {
            b.ring(&plan.ring);
            for page in &plan.pages {
                b.page(&plan.ring, page);
            }
        }
        Snapshot::read("test".into(), Source::Memory(b.end())).unwrap()
    }

    fn verify_with(&self, before: &[&Case]) -> (Totals, Report) {
        let mut files: Vec<Snapshot> = before.iter().map(|case| case.snapshot()).collect();
        files.push(self.snapshot());
        let forms: Vec<Forms> = files.iter().map(|_| forms()).collect();
        let mut truth = Truth::default();
        truth.add(&self.truth).unwrap();
        let mut report = Report::default();
        let totals = verify(&files, &forms, &truth, &self.options, &mut report);
        (totals, report)
    }

    fn verify(&self) -> (Totals, Report) {
        self.verify_with(&[])
    }

    /// Asserts that a kind of failure is found, and that its text names the place.
    fn fails(&self, kind: &str, place: &str) {
        let (_, report) = self.verify();
        let failures = report.failures().join("\n");
        assert!(report.has(kind), "no {kind:?} in {failures:?}");
        assert!(failures.contains(place), "no {place:?} in {failures:?}");
    }

    fn passes(&self) -> Totals {
        let (totals, report) = self.verify();
        assert_eq!(report.failures(), Vec::<String>::new());
        totals
    }
}

fn truth(worker: u32, other: u32, timer: u32) -> String {
    format!(
        "state done\nrun 0\npayload {MAX}\nrt 0\ncomponent {NAME}\n\
         {WORKER} worker 0 {PID} {worker}\n{OTHER} worker 0 {OTHER_PID} {other}\n\
         {TIMER} timer 0 -1 {timer}\n"
    )
}

#[test]
fn a_sound_run_passes() {
    let totals = Case::sound().passes();
    let expected = Totals { attempted: 60, decoded: 60, overwritten: 0, lost: 0 };
    assert_eq!(totals, expected);
}

#[test]
fn all_shapes_of_records_are_tried() {
    let seen: Vec<Form> = (0..30).map(|seq| expected::record(NAME, WORKER, seq, MAX).0).collect();
    for form in [Form::Short, Form::Bytes, Form::Text] {
        assert!(seen.contains(&form), "no {form:?}");
    }
}

#[test]
fn overwritten_and_lost_records_are_accounted_for() {
    let mut case = Case::sound();
    // The first page is gone, and of what came then some was lost.
    case.worker.pages.remove(0);
    case.other = Plan::new(Ring::task(1, 2, OTHER_PID, "other"), 0);
    for seq in (0..10).chain(14..20) {
        if seq == 14 {
            case.other.lost(0, 4);
        }
        case.other.log(OTHER, seq);
    }
    let totals = case.passes();
    let expected = Totals { attempted: 60, decoded: 41, overwritten: 15, lost: 4 };
    assert_eq!(totals, expected);
}

/// Faults: what is changed in a sound run, and which failures are found then, with their places.
macro_rules! planted {
    ($($name:ident: |$case:ident| $change:expr => $($kind:literal $place:literal),+;)*) => {$(
        #[test]
        fn $name() {
            let mut $case = Case::sound();
            $change;
            $($case.fails($kind, $place);)+
        }
    )*};
}

planted! {
    a_record_that_is_missing_at_the_end_is_a_silent_loss: |case| case.truth = truth(31, 20, 10) =>
        "silent loss" "31 attempted, 30 decoded here";
    a_record_that_is_missing_in_the_middle_is_a_gap: |case|
        case.other = other((0..10).chain(11..20)) =>
        "gap" "torture ring 2 (task 101), page 1: writer 8 has no 10 to 10",
        "silent loss" "60 attempted, 59 taken";
    one_ring_s_surplus_does_not_hide_another_s_loss: |case| {
        case.truth = truth(31, 20, 10);
        // As many losses too many as there are records too few.
        case.other.ring.lost[0] = 1;
    } =>
        "silent loss" "torture ring 1",
        "counted twice" "torture ring 2";
    a_duplicate_within_a_ring_is_found: |case| case.other.log(OTHER, 19) =>
        "out of order" "torture ring 2 (task 101), page 1: record 20: writer 8 has 19",
        "duplicate" "writer 8 has 19 to 19";
    a_duplicate_in_another_ring_is_found: |case| {
        let ring = Ring { ring: 4, cpu: 1, ..case.timer.ring.clone() };
        case.shared = Some(Plan::new(ring, 0).log(TIMER, 4).clone());
    } =>
        "duplicate" "writer 1 has 4 to 4";
    records_out_of_order_are_found: |case|
        case.other = other((0..10).chain([11, 10]).chain(12..20)) =>
        "out of order" "record 11: writer 8 has 10 after 11";
    a_record_of_another_component_is_found: |case| {
        let (form, bytes) = expected::record("torture_keep", OTHER, 20, MAX);
        case.other.raw(form, &bytes);
    } =>
        "corrupt record" "torture ring 2";
    a_record_that_was_never_logged_is_found: |case| case.other.log(OTHER, 20) =>
        "more than was logged" "writer 8 has 20, of 20 records",
        "counted twice" "60 attempted, 61 taken";
    a_record_in_the_ring_of_another_task_is_found: |case| {
        case.truth = truth(31, 20, 10);
        case.other.log(WORKER, 30);
    } =>
        "in another's ring" "torture ring 2 (task 101), page 1: writer 7";
    an_interrupt_s_record_in_the_ring_of_a_task_is_found: |case| {
        case.truth = truth(30, 20, 11);
        case.other.log(TIMER, 10);
    } =>
        "in another's ring" "writer 1 (timer";
    a_page_that_is_missing_in_the_middle_is_a_hole: |case| {
        case.worker.turn().log(WORKER, 30);
        case.worker.pages.remove(1);
        case.truth = truth(31, 20, 10);
    } =>
        "contradiction" "torture ring 1 worker[100]: 15 records are missing";
    a_newest_page_that_is_missing_is_found: |case| case.worker.pages.pop() =>
        "contradiction" "torture ring 1 worker[100]: 15 records are missing";
    a_clock_that_goes_back_is_found: |case| {
        case.truth = truth(30, 22, 10);
        case.other.log(OTHER, 20);
        case.other.clock -= 100;
        case.other.log(OTHER, 21);
    } =>
        "time goes back" "torture ring 2 (task 101), page 1: record 21";
    losses_that_are_told_twice_are_found: |case| {
        let clock = case.worker.clock;
        case.worker.page().lost(clock, 0, 1);
    } =>
        "contradiction" "torture ring 1 worker[100]: 1 are reported as lost (no-page), but 0 are";
    a_counted_loss_that_did_not_happen_is_found: |case| case.loose[6] = 1 =>
        "counted twice" "60 attempted, 60 taken + 1 lost";
    a_ring_beyond_its_budget_is_found: |case| {
        // 256 KiB, says the component.
        for _ in 0..64 {
            case.timer.turn();
        }
    } =>
        "over budget" "torture ring 3 (softirq 0): 266240 bytes of 256 KiB";
    a_shared_ring_beyond_its_part_is_found: |case| {
        let mut plan = Plan::new(Ring::shared(1, 4, 0), 0);
        for _ in 0..64 {
            plan.turn();
        }
        case.shared = Some(plan);
        // A quarter of 1 MiB.
    } =>
        "over budget" "266240 bytes of 256 KiB";
    a_run_in_which_no_ring_was_full_proves_no_history: |case|
        case.options.history = vec![(NAME.into(), 3)] =>
        "history" "no ring was ever full";
    a_run_that_was_not_over_is_no_proof: |case| {
        case.truth = case.truth.replace("state done", "state running");
    } =>
        "run" "not over";
    a_component_that_is_not_in_the_snapshot_is_missed: |case|
        case.truth += "component torture_keep\n7 worker 0 100 5\n" =>
        "component is missing" "torture_keep";
}

#[test]
fn each_flipped_bit_of_each_shape_is_found() {
    for wanted in [Form::Short, Form::Bytes, Form::Text] {
        let seq = (20..).find(|seq| expected::record(NAME, OTHER, *seq, MAX).0 == wanted).unwrap();
        let (form, good) = expected::record(NAME, OTHER, seq, MAX);
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let mut case = Case::sound();
            case.other.raw(form, &bytes);
            let (_, report) = case.verify();
            assert!(report.has("corrupt record"), "bit {bit} of {form:?}");
        }
    }
}

#[test]
fn a_shared_ring_must_name_who_writes() {
    let shared = Ring::shared(1, 4, 0);
    let mut case = Case::sound();
    case.truth = truth(30, 22, 10);
    let mut plan = Plan::new(shared, 0);
    plan.log(OTHER, 20).log(OTHER, 21);
    case.shared = Some(plan.clone());
    case.fails("nobody named", "writer 8, number 20");

    let mut right = Plan::new(plan.ring.clone(), 0);
    let clock = right.clock;
    right.page().writer(clock, 0, 0, (OTHER_PID, OTHER_PID, "other"));
    right.log(OTHER, 20).log(OTHER, 21);
    case.shared = Some(right);
    assert_eq!(case.passes().decoded, 62);

    let mut wrong = Plan::new(plan.ring, 0);
    wrong.page().writer(clock, 0, 0, (PID, PID, "worker"));
    wrong.log(OTHER, 20).log(OTHER, 21);
    case.shared = Some(wrong);
    case.fails("in another's ring", "writer 8 (worker, task 101), number 20");
}

#[test]
fn what_was_overwritten_later_is_decoded_from_earlier_files() {
    let early = Case::sound();
    let mut late = Case::sound();
    late.worker.pages.remove(0);
    let (totals, report) = late.verify_with(&[&early]);
    assert_eq!(report.failures(), Vec::<String>::new());
    assert_eq!(totals.decoded, 60);
    assert_eq!(totals.overwritten, 15);
}

#[test]
fn a_corrupt_record_in_an_earlier_file_is_found() {
    let mut early = Case::sound();
    let (form, mut bytes) = expected::record(NAME, OTHER, 20, MAX);
    bytes[0] ^= 1;
    early.other.raw(form, &bytes);
    let (_, report) = Case::sound().verify_with(&[&early]);
    assert!(report.has("corrupt record"));
}

#[test]
fn a_cleared_component_is_still_checked_record_by_record() {
    let mut case = Case::sound();
    case.options.cleared = vec![NAME.into()];
    case.worker.pages.remove(0);
    case.worker.ring.records = 15;
    case.worker.pages[0].first = 0;
    assert!(!case.verify().1.has("silent loss"));
    case.other.log(OTHER, 19);
    case.fails("duplicate", "writer 8 has 19 to 19");
}

#[test]
fn a_component_that_must_be_whole_is() {
    let mut case = Case::sound();
    case.options.whole = vec![NAME.into()];
    case.passes();
    case.worker.pages.remove(0);
    case.fails("not whole", "torture: 45 of 60 records");
}

#[test]
fn a_full_ring_that_has_lost_more_than_a_page_is_found() {
    let mut case = Case::sound();
    case.options.history = vec![(NAME.into(), 3)];
    for seq in 30..60 {
        if seq % 15 == 0 {
            case.worker.turn();
        }
        case.worker.log(WORKER, seq);
    }
    case.truth = truth(60, 20, 10);
    // Of 4 pages the newest 3 are there: a full ring. With 2 it is within the promise.
    case.worker.pages.remove(0);
    case.passes();
    case.worker.pages.remove(0);
    case.passes();
    case.worker.pages.remove(0);
    case.fails("history", "1 of 3 pages");
}

#[test]
fn a_kind_of_writer_that_is_not_there_is_missed() {
    let mut case = Case::sound();
    case.options.kinds = vec!["worker".into(), "timer".into()];
    case.passes();
    case.options.kinds.push("nmi".into());
    case.fails("kind of writer", "no record of nmi");
    // Turned knobs are no excuse for what never logged, but for what is overwritten.
    case.options.flipped = true;
    case.fails("kind of writer", "no record of nmi");
    case.truth += "component torture_keep\n77 nmi 0 -1 5\n";
    assert!(!case.verify().1.has("kind of writer"));
}

#[test]
fn a_truth_that_makes_no_sense_is_refused() {
    for bad in ["payload 1\n7 worker 0 100 5\n", "payload x\n", "state done\n", "what is this\n"] {
        assert!(Truth::default().add(bad).is_err(), "{bad:?}");
    }
}
