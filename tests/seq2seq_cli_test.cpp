#include "tests/seq2seq_process.h"

using namespace regrad;
using namespace regrad::testing;

TEST_CASE("train, translate, evaluate and attend") {
  const Workshop shop;
  const Result trained = shop.run(shop.tiny("run", {"--epochs", "3"}));
  CAPTURE(trained.err);
  REQUIRE(trained.status == 0);
  CHECK(contains(trained.out, "best on dev"));
  CHECK(contains(trained.out, "translate --model"));
  CHECK_FALSE(contains(trained.err, "\r"));
  for (const char* name :
       {"model.safetensors", "last.safetensors", "metrics.jsonl", "report.html"}) {
    CHECK(std::filesystem::file_size(shop.folder / "run" / name) > 0);
  }
  std::istringstream metrics(read(shop.folder / "run" / "metrics.jsonl"));
  int lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    CHECK(Json::parse(line)["dev"]["nll"].is_number());
  }
  CHECK(lines == 3);

  const std::string model = shop.path("run") + "/model.safetensors";
  const Result translated = shop.run({"translate", "--model", model}, "ab\n\nba\tignored\r\nxb");
  CHECK(translated.status == 0);
  CHECK(std::ranges::count(translated.out, '\n') == 4);
  CHECK(contains(translated.out, "\n\n"));
  CHECK(contains(translated.err, "1 source token is unknown to the model, read as <unk>"));
  CHECK(contains(translated.err, ": x\n"));
  CHECK(shop.run({"translate", "--model", model}, "ab\n").out ==
        translated.out.substr(0, translated.out.find('\n') + 1));

  const Result json =
      shop.run({"evaluate", "--model", model, "--data", shop.path("dev.tsv"), "--json"});
  CHECK(json.status == 0);
  const Json scores = Json::parse(json.out);
  CHECK(scores["examples"] == 2);
  for (const char* name : {"exact_match", "token_accuracy", "token_error_rate", "bleu", "nll",
                           "perplexity", "by_source_length"}) {
    CHECK(scores.contains(name));
  }
  CHECK(contains(shop.run({"evaluate", "--model", model, "--task", "copy"}).out, "source length"));
  const Result attended = shop.run({"attend", "--model", model, "abba"});
  CHECK(attended.status == 0);
  CHECK(std::ranges::count(attended.out, '\n') >= 3);
  // The last state will do as a model, too.
  CHECK(shop.run({"translate", "--model", shop.path("run") + "/last.safetensors"}, "a\n").status ==
        0);
}

TEST_CASE("no input gives no output") {
  const Workshop shop;
  const Result result = shop.run({"translate", "--model", shop.trained_model()}, "");
  CHECK(result.status == 0);
  CHECK(result.out.empty());
}

TEST_CASE("bad usage is status 2 and tells what there is") {
  const Workshop shop;
  require_error(shop.run({}), 2, "train, translate, evaluate, attend");
  require_error(shop.run({"fly"}), 2, "`fly` is no command; there is train");
  require_error(shop.run(shop.tiny("run", {"--beam", "5"})), 2, "--hidden");
  require_error(shop.run(shop.tiny("run", {"--cell", "zebra"})), 2,
                "there is rnn, rnn-relu, gru, lstm");
  require_error(shop.run(shop.tiny("run", {"--attention", "hard"})), 2,
                "there is none, content, additive, general, dot, scaled-dot, location");
  require_error(shop.run({"train", "--task", "sort", "--out", shop.path("run")}), 2,
                "there is copy, reverse");
  require_error(shop.run(shop.tiny("run", {"--hidden", "many"})), 2, "--hidden");
  for (const std::string seed : {"-1", "1.5", "18446744073709551616"}) {
    require_error(shop.run(shop.tiny("run", {"--seed", seed})), 2,
                  "--seed: `" + seed + "` is no whole number from 0 to 18446744073709551615");
  }
  require_error(shop.run(shop.tiny("run", {"--epochs", "1", "--steps", "1"})), 2, "--epochs");
  require_error(shop.run({"train", "--task", "copy"}), 2, "--out");
  require_error(shop.run({"train", "--out", shop.path("run")}), 2, "--task");
  require_error(shop.run({"train", "--train", "a", "--out", shop.path("run")}), 2, "--dev");
  require_error(shop.run({"translate"}), 2, "--model");
  require_error(shop.run({"translate", "--model", "m", "--fly", "5"}), 2, "there is");
  require_error(shop.run(shop.tiny("run", {"--architecture", "transformer", "--heads", "5"})), 2,
                "equal heads");
  require_error(shop.run(shop.tiny("run", {"--architecture", "transformer", "--cell", "lstm"})), 2,
                "leave out --attention");
  require_error(shop.run(shop.tiny("run", {"--attention", "none", "--alignment", "entmax"})), 2,
                "--alignment entmax needs an attention");
  require_error(shop.run(shop.tiny("run", {"--attention", "none", "--decoder", "luong"})), 2,
                "--decoder luong needs an attention");
  require_error(shop.run(shop.tiny("run", {"--fixed-vector", "initial"})), 2, "--attention none");
  require_error(shop.run(shop.tiny("run", {"--positions", "learned"})), 2,
                "are for --architecture transformer");
  require_error(shop.run(shop.tiny("run", {"--norm", "both"})), 2, "there is pre, post");
  require_error(shop.run(shop.tiny("run", {"--variational-dropout", "--dropout", "0"})), 2,
                "no effect");
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--weight-dropout", "0.1"}, {"--learned-initial"}}) {
    std::vector<std::string> options{"--architecture", "transformer"};
    options.insert(options.end(), option.begin(), option.end());
    require_error(shop.run(shop.tiny("run", options)), 2, "are for --architecture recurrent");
  }
  require_error(shop.run(shop.tiny("run", {"--architecture", "transformer", "--positions",
                                           "learned", "--longest", "3"})),
                2, "--positions learned has --longest 3 positions");
  require_error(shop.run({"evaluate", "--model", "m"}), 2, "--data");
  require_error(shop.run({"evaluate", "--model", "m", "--data", "d", "--task", "copy"}), 2,
                "--data");
  require_error(shop.run({"attend", "--model", "m"}), 2, "line");
  CHECK_FALSE(std::filesystem::exists(shop.folder / "run"));
}

TEST_CASE("help is a result") {
  const Workshop shop;
  const Result general = shop.run({"--help"}), train = shop.run({"train", "--help"});
  CHECK(general.status == 0);
  CHECK(contains(general.out, "evaluate"));
  CHECK(train.status == 0);
  CHECK(contains(train.out, "--label-smoothing"));
  CHECK(contains(train.out, "additive|general|dot"));
}

TEST_CASE("training files that are no good are named errors, and nothing is written") {
  const Workshop shop;
  const auto train_on = [&](const std::string& name) {
    return shop.run({"train", "--train", shop.path(name), "--dev", shop.path("dev.tsv"), "--out",
                     shop.path("run")});
  };
  require_error(train_on("missing.tsv"), 1, "missing.tsv");
  require_error(train_on(""), 1, shop.path(""));
  write(shop.folder / "empty.tsv", "");
  require_error(train_on("empty.tsv"), 1, "empty.tsv");
  write(shop.folder / "tabless.tsv", "a\tb\nab\nb\ta\n");
  require_error(train_on("tabless.tsv"), 1, "line 2");
  write(shop.folder / "bytes.tsv", "a\tb\nb\t\xff\n");
  require_error(train_on("bytes.tsv"), 1, "line 2");
  write(shop.folder / "packed.tsv", std::string("\x1f\x8b\x08\0\0\0\0", 7));
  require_error(train_on("packed.tsv"), 1, "packed.tsv");
  CHECK_FALSE(std::filesystem::exists(shop.folder / "run"));
}

TEST_CASE("values and directories that cannot work are errors before training") {
  const Workshop shop;
  require_error(shop.run(shop.tiny("run", {"--hidden", "0"})), 2, "--hidden");  // given twice
  require_error(shop.run({"train", "--task", "copy", "--hidden", "0", "--out", shop.path("run")}),
                2, "--hidden must be from 1 to 65536, not 0");
  require_error(shop.run(shop.tiny("run", {"--dropout", "1"})), 2, "--dropout");
  require_error(shop.run(shop.tiny("run", {"--learning-rate", "nan"})), 2, "--learning-rate");
  require_error(shop.run({"train", "--task", "copy", "--out", ""}), 2,
                "--out: it is empty; name a directory");
  CHECK_FALSE(std::filesystem::exists(shop.folder / "run"));
  require_error(shop.run(shop.tiny("dev.tsv")), 1, "--out");
  require_error(shop.run(shop.tiny("dev.tsv/run")), 1, "--out");
}

TEST_CASE("a model file that is not one is a named error") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const std::string bytes = read(model);
  const auto use = [&](const std::string& content) {
    write(shop.folder / "bad", content);
    return shop.run({"translate", "--model", shop.path("bad")}, "a\n");
  };
  require_error(shop.run({"translate", "--model", shop.path("none")}), 1, "none");
  require_error(shop.run({"translate", "--model", shop.path("")}), 1, shop.path(""));
  require_error(use(""), 1, "bad");
  require_error(use("a\tb\n"), 1, "bad");
  require_error(use(bytes.substr(0, bytes.size() / 2)), 1, "bad");
  save_safetensors(shop.folder / "bad", {{{"x", zeros({2})}}, {}});
  const Result result = shop.run({"evaluate", "--model", shop.path("bad"), "--task", "copy"});
  require_error(result, 1, "is not a model of this program");
  require_error(shop.run({"attend", "--model", model, ""}), 1, "empty");
  require_error(shop.run({"attend", "--model", model, "a\xff"}), 1, "UTF-8");
  require_error(shop.run({"translate", "--model", model}, "ab\nb\xff\n"), 1, "line 2");
  require_error(shop.run({"evaluate", "--model", model, "--data", shop.path("none")}), 1, "none");
}

TEST_CASE("a directory with a run is not overwritten, and resumed only as what it is") {
  const Workshop shop;
  const std::string model = shop.trained_model();
  const std::string before = read(model);
  require_error(shop.run(shop.tiny("run")), 1, "--resume");
  require_error(shop.run(shop.tiny("run", {"--resume", "--seed", "7"})), 1, "--seed 7");
  require_error(shop.run(shop.tiny("nothing", {"--resume"})), 1, "there is no run");
  CHECK(read(model) == before);
  const Result more = shop.run({"train", "--resume", "--out", shop.path("run"), "--epochs", "3"});
  CHECK(more.status == 0);
  CHECK(saved_step(shop.folder / "run" / "last.safetensors") == 9);
  const Result whole = shop.run(shop.tiny("whole", {"--epochs", "3"}));
  const auto tensors = [&](const char* run) {
    return load_safetensors(shop.folder / run / "last.safetensors").tensors;
  };
  for (const auto& [name, tensor] : tensors("whole"))
    CHECK(identical(tensor, tensors("run")[name]));
}

TEST_CASE("two runs at once need two directories") {
  const Workshop shop;
  const Process first(shop.folder / "",
                      shop.tiny("run", {"--epochs", "1000000", "--patience", "1000000"}));
  REQUIRE(wait_for(first, "epoch 2"));
  std::filesystem::create_directory(shop.folder / "streams");
  const Process second(shop.folder / "streams", shop.tiny("run", {"--resume"}));
  require_error(second.wait(), 1, "another process trains into it");
  first.signal(SIGTERM);
  CHECK(first.wait().status == 128 + SIGTERM);
}

TEST_CASE("Ctrl-C ends with everything saved, and a resume gives the bits of an uncut run") {
  for (const bool evaluated : {true, false}) {
    CAPTURE(evaluated);
    const Workshop shop;
    const auto train = [&](const std::string& out, const std::string& steps) {
      return Arguments{"train",   "--task", "copy",  "--hidden",     "8",       "--embedding", "4",
                       "--batch", "4",      "--out", shop.path(out), "--steps", steps};
    };
    const Process process(shop.folder / "", train("cut", "100000"));
    REQUIRE(wait_for(process, evaluated ? "step 250" : "parameters"));
    process.signal(SIGINT);
    const Result cut = process.wait();
    CAPTURE(cut.err);
    CHECK(cut.status == 128 + SIGINT);
    CHECK(contains(cut.err, "stopped, everything is saved"));
    CHECK(contains(cut.out, "--resume --out"));
    const std::string model = shop.path("cut") + "/model.safetensors";
    CHECK(shop.run({"translate", "--model", model}, "ab\n").status == 0);

    const Index step = saved_step(shop.folder / "cut" / "last.safetensors");
    const std::string steps = std::to_string(step + 20);
    REQUIRE(shop.run({"train", "--resume", "--out", shop.path("cut"), "--steps", steps}).status ==
            0);
    REQUIRE(shop.run(train("whole", steps)).status == 0);
    const auto resumed = load_safetensors(shop.folder / "cut" / "last.safetensors").tensors;
    const auto whole = load_safetensors(shop.folder / "whole" / "last.safetensors").tensors;
    for (const auto& entry : whole) {
      CAPTURE(entry.first);
      CHECK(identical(entry.second, resumed.at(entry.first)));
    }
    for (const auto& entry : std::filesystem::directory_iterator(shop.folder / "cut")) {
      const std::string name = entry.path().filename().string();
      const bool known = name == "model.safetensors" || name == "last.safetensors" ||
                         name == "metrics.jsonl" || name == "report.html";
      CAPTURE(name);
      CHECK(known);
    }
  }
}
