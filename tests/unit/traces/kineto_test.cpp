// Kineto: times, streams, launches, waits, and what a collective's arguments and the annotations around its launch say.
// Times in the traces are microseconds, those of a RecordedJob seconds since the rank's first stamp.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>

#include "tests/unit/traces/small_traces.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using workloads::CollectiveKind;
using workloads::RecordedEvent;
using Role = workloads::RecordedCollective::Role;

/// Each event begins a line, the first one line 2, at column 1.
std::string trace(const std::vector<std::string>& events, const std::string& rest = "") {
  std::string text = "{\"traceEvents\": [";
  for (const auto& event : events) text += (&event == &events.front() ? "\n" : ",\n") + event;
  return text + "]" + rest + "}";
}

std::string event(const std::string& category, const std::string& name, const std::string& rest,
                  const std::string& arguments) {
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + "\", " + rest + ", \"args\": {" + arguments +
         "}}";
}

/// A kernel on stream 7.
std::string kernel(const std::string& name, const std::string& times, const std::string& arguments = "") {
  return event("kernel", name, times, "\"stream\": 7" + (arguments.empty() ? "" : ", " + arguments));
}

std::string times(int start, int duration) {
  return "\"ts\": " + std::to_string(start) + ", \"dur\": " + std::to_string(duration);
}

workloads::RecordedJob read(const std::vector<std::string>& events, const std::string& rest = "") {
  return workloads::read_trace_bytes(trace(events, rest), "t");
}

/// The collective of a trace of one NCCL kernel with these arguments, on rank 0 of 8.
workloads::RecordedCollective one(const std::string& arguments, const std::string& name = "ncclDevKernel_X") {
  const auto job = read({kernel(name, times(5, 1), arguments)}, R"(, "distributedInfo": {"rank": 0, "world_size": 8})");
  EXPECT_EQ(job.ranks[0].collectives.count(), 1);
  return job.ranks[0].collectives[0];
}

// A duration may be a number, with a fraction, an exponent or in quotes, and is zero where there is none: 12.3456 us
// are 12,345 ns (what is below a nanosecond is cut off), 25e-1 us are 2,500 ns.
TEST(KinetoReader, WritingsOfTimes) {
  const auto duration = [](const std::string& text) {
    return read({kernel("a", "\"ts\": 5" + (text.empty() ? "" : ", \"dur\": " + text))}).ranks[0].events[0].duration;
  };
  EXPECT_NEAR(duration("12.3456").value(), 12345e-9, 1e-18);
  EXPECT_NEAR(duration("25e-1").value(), 2500e-9, 1e-18);
  EXPECT_NEAR(duration("\"8.5\"").value(), 8500e-9, 1e-18);
  EXPECT_NEAR(duration("1E3").value(), 1e-3, 1e-15);
  EXPECT_EQ(duration(""), Seconds(0));
  EXPECT_EQ(duration("0"), Seconds(0));
}

// Times before the epoch are negative: from -2.5 us to 1 us are 3.5 us. The most is 3e15 us on either side of it, 6e9 s
// apart, which is less than 2^63 ns.
TEST(KinetoReader, NegativeAndHugeTimes) {
  const auto job = read({kernel("a", "\"ts\": -2.5, \"dur\": 1"), kernel("b", "\"ts\": 1, \"dur\": 1")});
  EXPECT_NEAR(job.ranks[0].events[1].start->value(), 3.5e-6, 1e-15);
  const std::string most = "3000000000000000";
  const auto wide =
      read({kernel("a", "\"ts\": -" + most + ", \"dur\": 1"), kernel("b", "\"ts\": " + most + ", \"dur\": " + most),
            event("cuda_runtime", "cudaDeviceSynchronize", "\"ts\": " + most + ", \"dur\": " + most, "")});
  EXPECT_DOUBLE_EQ(wide.ranks[0].events[1].start->value(), 6e9);
  EXPECT_DOUBLE_EQ(wide.ranks[0].waits[0].end.value(), 9e9);
}

// Each way in which a time is none, and the message of each; all of a trace's are told at once, each with its place.
TEST(KinetoReader, RefusedTimes) {
  for (const std::string wrong : {"\"x\"", "null", "true", "[1]", "\"\"", "\"5 us\"", "3000000000000001", "1e30",
                                  "-1e30", "\"--5\"", "\"nan\""}) {
    EXPECT_EQ(refusal(trace({kernel("a", "\"ts\": " + wrong + ", \"dur\": 1")})),
              "t:2:1: traceEvents.ts: the event has no time; expected microseconds such as 1712195495505583.25")
        << wrong;
    EXPECT_EQ(refusal(trace({kernel("a", "\"ts\": 1, \"dur\": " + wrong)})),
              "t:2:1: traceEvents.dur: is no duration; expected microseconds such as 12.5")
        << wrong;
  }
  EXPECT_EQ(refusal(trace({kernel("a", "\"dur\": 1"), kernel("b", times(1, 1)), kernel("c", times(1, -1)),
                           event("kernel", "d", times(1, 1), "")})),
            "t:2:1: traceEvents.ts: the event has no time; expected microseconds such as 1712195495505583.25\n"
            "t:4:1: traceEvents.dur: a negative duration; expected microseconds from 0 up\n"
            "t:5:1: traceEvents.args.stream: the kernel has no stream; expected a number from 0 up");
}

// Of a thousand wrong events twenty are told.
TEST(KinetoReader, TwentyProblems) {
  const auto message = refusal(trace(std::vector<std::string>(1000, kernel("a", times(1, -1)))));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 19);
  EXPECT_THAT(message, HasSubstr("t:21:1: "));
  EXPECT_THAT(message, testing::Not(HasSubstr("t:22:1: ")));
}

// A stream is the argument, else the thread; a device the argument, else the process. Streams of further devices are
// named with them.
TEST(KinetoReader, StreamsAndDevices) {
  const auto job = read({event("kernel", "a", times(1, 1) + ", \"tid\": 9, \"pid\": 3", "\"stream\": 7, \"device\": 0"),
                         event("kernel", "b", times(2, 1) + ", \"tid\": 9, \"pid\": 0", ""),
                         event("gpu_memcpy", "c", times(3, 1) + ", \"tid\": \"7\", \"pid\": 1", "")});
  const auto& rank = job.ranks[0];
  EXPECT_THAT(rank.streams, ElementsAre("stream 7", "stream 9", "device 1 stream 7"));
  EXPECT_EQ(rank.events[2].stream, 2);
}

// What is on the device, by its category, old and new; other categories, phases and plain operators are passed over.
TEST(KinetoReader, Categories) {
  const auto kind = [](const std::string& category) {
    return read({event(category, "a", times(1, 1), "\"stream\": 1")}).ranks[0].events[0].kind;
  };
  for (const std::string category : {"kernel", "Kernel"}) EXPECT_EQ(kind(category), RecordedEvent::Kind::kernel);
  for (const std::string category : {"gpu_memcpy", "gpu_memset", "Memcpy", "Memset"})
    EXPECT_EQ(kind(category), RecordedEvent::Kind::copy) << category;
  for (const std::string category : {"cpu_op", "user_annotation", "Operator", "cuda_runtime", "python_function", ""})
    EXPECT_THAT(refusal(trace({event(category, "a", times(1, 1), "\"stream\": 1")})),
                HasSubstr("neither kernels nor collectives"))
        << category;
  EXPECT_THAT(refusal(trace({R"({"ph": "i", "cat": "kernel", "name": "a", "ts": 1, "args": {"stream": 1}})"})),
              HasSubstr("neither kernels nor collectives"));
}

// A document that is the list itself, as older profilers wrote it.
TEST(KinetoReader, DocumentThatIsAList) {
  const auto job = workloads::read_trace_bytes("[" + kernel("a", times(1, 2)) + "]", "t");
  EXPECT_EQ(job.format, "Kineto");
  EXPECT_NEAR(job.ranks[0].events[0].duration.value(), 2e-6, 1e-18);
}

// Kernels in any order in the file are events by start: all 24 orders of four give the same job.
TEST(KinetoReader, OrderOfEvents) {
  std::vector<std::string> events{kernel("a", times(10, 5), "\"correlation\": 1"),
                                  kernel("b", times(20, 5), "\"correlation\": 2"),
                                  event("cuda_runtime", "cudaLaunchKernel", times(3, 1), "\"correlation\": 2"),
                                  event("cpu_op", "ProfilerStep#4", times(1, 50), "")};
  std::sort(events.begin(), events.end());
  const auto first = told(read(events));
  EXPECT_THAT(first, HasSubstr("step ProfilerStep#4 0 "));
  while (std::next_permutation(events.begin(), events.end())) EXPECT_EQ(told(read(events)), first);
}

// A launch is found by its correlation. A call that launches nothing (cudaFree) is none, nor is one that began after
// its kernel. The launch at 3 us is the rank's first stamp: kernels at 10 and 20 us start at 7 and 17 us.
TEST(KinetoReader, Launches) {
  const auto job =
      read({event("cuda_runtime", "cudaLaunchKernel", times(3, 1), "\"correlation\": 1"),
            event("cuda_driver", "cuLaunchKernelEx", times(30, 1), "\"correlation\": 2"),
            event("cuda_runtime", "cudaFree", times(4, 1), "\"correlation\": 3"),
            kernel("a", times(10, 1), "\"correlation\": 1"), kernel("b", times(20, 1), "\"correlation\": 2"),
            kernel("c", times(25, 1), "\"correlation\": 3")});
  const auto& events = job.ranks[0].events;
  EXPECT_NEAR(events[0].start->value(), 7e-6, 1e-18);
  EXPECT_NEAR(events[1].start->value(), 17e-6, 1e-18);
  ASSERT_TRUE(events[0].launched);
  EXPECT_EQ(events[0].launched->value(), 0);
  EXPECT_FALSE(events[1].launched);
  EXPECT_FALSE(events[2].launched);
  EXPECT_THAT(job.missing, ElementsAre(HasSubstr("Of some kernels the trace has no launch")));
}

// Calls that wait for the device are kept by start, with their ends; other calls are not waits.
TEST(KinetoReader, Waits) {
  const auto job = read({kernel("a", times(10, 5)), event("cuda_runtime", "cudaStreamSynchronize", times(40, 7), ""),
                         event("hip_runtime", "hipDeviceSynchronize", times(20, 2), ""),
                         event("cuda_runtime", "cudaMalloc", times(30, 2), "")});
  const auto& waits = job.ranks[0].waits;
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_NEAR(waits[0].start.value(), 10e-6, 1e-18);
  EXPECT_NEAR(waits[0].end.value(), 12e-6, 1e-18);
  EXPECT_NEAR(waits[1].end.value(), 37e-6, 1e-18);
}

// cudaStreamWaitEvent says that some stream waits, not which; that is kept, by time, and said.
TEST(KinetoReader, UnnamedStreamWaits) {
  const auto job = read({kernel("a", times(10, 5)), event("cuda_runtime", "cudaStreamWaitEvent", times(40, 1), ""),
                         event("cuda_runtime", "hipStreamWaitEvent", times(20, 1), "")});
  ASSERT_EQ(job.ranks[0].stream_waits.size(), 2u);
  EXPECT_NEAR(job.ranks[0].stream_waits[0].value(), 10e-6, 1e-18);
  EXPECT_NEAR(job.ranks[0].stream_waits[1].value(), 30e-6, 1e-18);
  EXPECT_THAT(job.missing, testing::Contains(HasSubstr("does not say which streams")));
}

// Steps are kept by start, whatever their order in the file.
TEST(KinetoReader, Steps) {
  const auto job = read({event("user_annotation", "ProfilerStep#2", times(50, 40), ""), kernel("a", times(60, 5)),
                         event("user_annotation", "ProfilerStep#1", times(10, 40), "")});
  const auto& steps = job.ranks[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].name, "ProfilerStep#1");
  EXPECT_EQ(steps[0].start, Seconds(0));
  EXPECT_NEAR(steps[1].end.value(), 80e-6, 1e-18);
}

// The larger side's elements times the bytes of their type: max(512, 4096) BFloat16 are 8,192 bytes. Of an unknown type
// and of a product beyond 62 bits there is no size.
TEST(KinetoReader, SizesOfArguments) {
  const auto size = [](const std::string& in, const std::string& out, const std::string& type) {
    return one(R"("Collective name": "_allgather_base", "In msg nelems": )" + in + ", \"Out msg nelems\": " + out +
               ", \"dtype\": \"" + type + "\"")
        .buffer;
  };
  EXPECT_EQ(size("512", "4096", "BFloat16"), Bytes(8192));
  EXPECT_EQ(size("512", "0", "Double"), Bytes(4096));
  EXPECT_EQ(size("3", "24", "Float8_e4m3fn"), Bytes(24));
  EXPECT_EQ(size("0", "0", "Byte"), Bytes(0));
  EXPECT_FALSE(size("512", "4096", "Quaternion"));
  EXPECT_FALSE(size("1", "4611686018427387904", "Float"));
  EXPECT_EQ(size("1", "1152921504606846976", "Float"), Bytes(std::int64_t{1} << 62)) << "the most";
  EXPECT_FALSE(one(R"("Collective name": "allreduce", "dtype": "Float")").buffer);
}

// An all-gather that says only what goes in tells one rank's part; with what comes out it tells the whole.
TEST(KinetoReader, PartsOfAllGathers) {
  const std::string gather = R"("Collective name": "_allgather_base", "dtype": "Float", "In msg nelems": 8)";
  EXPECT_TRUE(one(gather).buffer_is_shard);
  EXPECT_FALSE(one(gather + ", \"Out msg nelems\": 64").buffer_is_shard);
  EXPECT_FALSE(one(R"("Collective name": "allreduce", "dtype": "Float", "In msg nelems": 8)").buffer_is_shard);
}

// The collective's name goes before the kernel's, which tells the kind where there is none.
TEST(KinetoReader, KindsOfKernels) {
  EXPECT_EQ(one("", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)").kind, CollectiveKind::all_reduce);
  EXPECT_EQ(one("", "ncclDevKernel_ReduceScatter_Sum_bf16").kind, CollectiveKind::reduce_scatter);
  EXPECT_EQ(one("", "rcclKernel_AllGather").kind, CollectiveKind::all_gather);
  EXPECT_EQ(one("", "ncclKernel_Broadcast_RING_LL").kind, CollectiveKind::broadcast);
  EXPECT_FALSE(one("", "ncclDevKernel_SendRecv").kind) << "it serves several kinds";
  EXPECT_EQ(one(R"("Collective name": "all_to_allv")", "ncclDevKernel_SendRecv").kind, CollectiveKind::all_to_all);
  EXPECT_EQ(one(R"("Collective name": "broadcast")", "own_kernel").kind, CollectiveKind::broadcast);
  EXPECT_EQ(one(R"("Collective name": "barrier")").buffer, Bytes(4)) << "an all-reduce of one element";
}

// A send from 0 to 3 on rank 0, and a receive from 5; to the rank itself it is none.
TEST(KinetoReader, Transfers) {
  const auto sent = one(R"("Collective name": "send", "Src Rank": 0, "Dst Rank": 3)");
  EXPECT_EQ(sent.kind, CollectiveKind::point_to_point);
  EXPECT_EQ(sent.role, Role::sends);
  EXPECT_EQ(sent.peer, 3);
  const auto received = one(R"("Collective name": "recv", "Src Rank": 5, "Dst Rank": 0)");
  EXPECT_EQ(received.role, Role::receives);
  EXPECT_EQ(received.peer, 5);
  for (const std::string peer : {"0", "-1", "1048576"})
    EXPECT_FALSE(one("\"Collective name\": \"send\", \"Dst Rank\": " + peer).kind) << peer;
}

// Groups: their lists of ranks; a shortened list ("[0, 1, ...]") does not count, the size does; a description apart
// from the collectives fills in what they lack.
TEST(KinetoReader, Groups) {
  const auto group = [](const std::string& arguments, const std::string& rest = "") {
    const auto job = read({kernel("ncclDevKernel_AllReduce", times(5, 1), arguments)}, rest);
    return job.groups[job.ranks[0].collectives[0].group];
  };
  const auto whole = group(R"("Process Group Name": "2", "Process Group Ranks": "[1, 5]", "Group size": 2,
                              "Process Group Description": "dp")");
  EXPECT_EQ(whole.name, "2");
  EXPECT_EQ(whole.description, "dp");
  EXPECT_THAT(whole.ranks, ElementsAre(1, 5));
  const auto shortened = group(R"("Process Group Name": "2", "Process Group Ranks": "[0, 1, ...]", "Group size": 64)");
  EXPECT_THAT(shortened.ranks, IsEmpty());
  EXPECT_EQ(shortened.size, 64);
  const auto described = group(R"("Process Group Name": "2")",
                               R"(, "distributedInfo": {"pg_config": [
      {"pg_name": "1", "ranks": [0, 1]}, {"pg_name": "2", "pg_desc": "tp", "pg_size": 2, "ranks": [4, 6]}]})");
  EXPECT_EQ(described.description, "tp");
  EXPECT_THAT(described.ranks, ElementsAre(4, 6));
}

// Groups that have no name are told apart by their sizes, where both tell one.
TEST(KinetoReader, UnnamedGroupsOfTwoSizes) {
  const auto job = read({kernel("ncclDevKernel_AllReduce", times(1, 1), "\"Group size\": 2"),
                         kernel("ncclDevKernel_AllReduce", times(2, 1), "\"Group size\": 4"),
                         kernel("ncclDevKernel_AllReduce", times(3, 1), "\"Group size\": 2")});
  const auto& made = job.ranks[0].collectives;
  EXPECT_EQ(job.groups[made[0].group].size, 2);
  EXPECT_EQ(job.groups[made[1].group].size, 4);
  EXPECT_EQ(made[2].group, made[0].group);
  EXPECT_EQ(made[2].sequence, 1);
}

// Of two nested annotations around a launch the inner counts; one of another thread or one that has ended does not.
TEST(KinetoReader, InnermostAnnotation) {
  const auto annotation = [](const std::string& thread, const std::string& when, const std::string& elements) {
    return event("user_annotation", "nccl:all_reduce", when + ", \"tid\": " + thread,
                 R"("Input Dims": [[)" + elements + R"(]], "Input type": ["float"])");
  };
  const auto job = read({annotation("1", times(10, 90), "3"), annotation("1", times(20, 50), "5, 2"),
                         annotation("1", times(22, 3), "7"), annotation("2", times(25, 50), "11"),
                         event("cuda_runtime", "cudaLaunchKernel", times(30, 1) + ", \"tid\": 1", "\"correlation\": 1"),
                         kernel("ncclKernel_AllReduce", times(40, 1), "\"correlation\": 1")});
  EXPECT_EQ(job.ranks[0].collectives[0].buffer, Bytes(10 * 4));
}

// The job's size and the rank's number, also behind the events and between quotes; other traces' must agree.
TEST(KinetoReader, DistributedInfo) {
  const auto job = read({kernel("a", times(1, 1))}, R"(, "distributedInfo": {"rank": "3", "world_size": "16"})");
  EXPECT_EQ(job.world, 16);
  EXPECT_EQ(job.ranks[0].rank, 3);
  EXPECT_EQ(read({kernel("a", times(1, 1))}).world, 1);
  EXPECT_EQ(refusal(trace({kernel("a", times(1, 1))}, R"(, "distributedInfo": {"rank": 9, "world_size": 4})")),
            "t: is of rank 9, but the job has 4 ranks; expected traces of one job");
}

// Cut after each of its bytes a trace is refused; only white space may stand behind it.
TEST(KinetoReader, CutAtEveryByte) {
  const auto whole = trace({kernel("a", times(1, 2), "\"correlation\": 1"),
                            event("cuda_runtime", "cudaLaunchKernel", times(0, 1), "\"correlation\": 1")},
                           ", \"x\": [1, {\"y\": null}]");
  EXPECT_EQ(refused_cuts(whole), whole.size());
  EXPECT_EQ(refusal(whole + " \n"), "");
  EXPECT_THAT(refusal(whole + "\n}"), HasSubstr("t:4:1: malformed JSON: "));
}

// 64 levels are read and 65 refused: document, list, event and arguments are four of them.
TEST(KinetoReader, DepthOfNesting) {
  const auto nested = [](std::size_t levels, const std::string& open, const std::string& close) {
    std::string value;
    for (std::size_t i = 0; i < levels; ++i) value += open;
    value += "1";
    for (std::size_t i = 0; i < levels; ++i) value += close;
    return trace({kernel("a", times(1, 1), "\"deep\": " + value)});
  };
  for (const auto& [open, close] : {std::pair<std::string, std::string>{"[", "]"}, {"{\"k\": ", "}"}}) {
    EXPECT_EQ(refusal(nested(60, open, close)), "");
    EXPECT_THAT(refusal(nested(61, open, close)),
                testing::EndsWith(": values are nested too deeply; expected at most 64 levels"));
    EXPECT_THAT(refusal(nested(100'000, open, close)), HasSubstr("nested too deeply"));
  }
}

// 200 random timelines of at most 30 kernels in random order: each comes back by start, with its stream and times to
// the nanosecond.
TEST(KinetoReader, RandomTimelines) {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<std::array<std::int64_t, 3>> drawn;  // start and duration in nanoseconds, stream
    std::int64_t now = 1'700'000'000'000'000'000;
    const auto count = 1 + random() % 30;
    for (std::size_t i = 0; i < count; ++i) {
      now += 1 + static_cast<std::int64_t>(random() % 1'000'000'000);
      drawn.push_back({now, static_cast<std::int64_t>(random() % 10'000'000), static_cast<std::int64_t>(random() % 5)});
    }
    const auto micros = [](std::int64_t ns) {
      const auto fraction = std::to_string(1000 + ns % 1000);
      return std::to_string(ns / 1000) + "." + fraction.substr(1);
    };
    std::vector<std::string> events;
    for (const auto& [start, duration, stream] : drawn)
      events.push_back(event("kernel", "k", "\"ts\": " + micros(start) + ", \"dur\": " + micros(duration),
                             "\"stream\": " + std::to_string(stream)));
    std::shuffle(events.begin(), events.end(), random);
    const auto job = read(events);
    const auto& rank = job.ranks[0];
    ASSERT_EQ(position_of(rank.events.count()), count);
    for (const auto id : rank.events.ids()) {
      const auto& [start, duration, stream] = drawn[position_of(id)];
      ASSERT_NEAR(rank.events[id].start->value() * 1e9, static_cast<double>(start - drawn[0][0]), 0.1);
      ASSERT_NEAR(rank.events[id].duration.value() * 1e9, static_cast<double>(duration), 1e-3);
      ASSERT_EQ(rank.streams[rank.events[id].stream], "stream " + std::to_string(stream));
    }
  }
}

}  // namespace
}  // namespace lockstep::test
