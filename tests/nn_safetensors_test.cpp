#include <fstream>
#include <iterator>
#include <limits>

#include <doctest/doctest.h>

#include "nn/safetensors.h"
#include "tests/nn_check.h"

namespace regrad {
namespace {

using testing::contains;
using testing::message_of;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The header length in little-endian order, byte by byte.
std::string prefix(std::uint64_t size) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(size >> (8 * i) & 0xff));
  return bytes;
}

std::string file_of(const std::string& header, std::size_t data_size) {
  return prefix(header.size()) + header + std::string(data_size, '\0');
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape +
         R"(],"data_offsets":[)" + offsets + "]}";
}

const double infinity = std::numeric_limits<double>::infinity();

SafeTensors sample() {
  SafeTensors content;
  content.tensors["b"] = tensor({1, -2});
  content.tensors["a"] = full({1, 1}, 0.5, DType::f64);
  content.metadata["k"] = "v";
  return content;
}

}  // namespace

TEST_CASE("the bytes of a file are those of the published format") {
  const TemporaryFolder folder;
  save_safetensors(folder / "x.safetensors", sample());
  std::string header = R"({"__metadata__":{"k":"v"},)"
                       R"("a":{"data_offsets":[0,8],"dtype":"F64","shape":[1,1]},)"
                       R"("b":{"data_offsets":[8,16],"dtype":"F32","shape":[2]}})";
  while (header.size() % 8 != 0) header += ' ';
  const unsigned char data[] = {0, 0, 0,    0,    0, 0, 0xe0, 0x3f,   // 0.5
                                0, 0, 0x80, 0x3f, 0, 0, 0,    0xc0};  // 1, -2
  const std::string numbers(reinterpret_cast<const char*>(data), sizeof(data));
  CHECK(read_file(folder / "x.safetensors") == prefix(header.size()) + header + numbers);
}

TEST_CASE("what is saved is loaded, bit for bit") {
  const TemporaryFolder folder;
  SafeTensors content = sample();
  content.tensors["scalar"] = scalar(3.25);
  content.tensors["empty"] = zeros({0, 4}, DType::f64);
  content.tensors["special"] = tensor({NAN, infinity, -infinity, -0.0, 1e-310, 1e308}, DType::f64);
  content.tensors["six"] = ones({1, 2, 1, 3, 1, 2});
  content.tensors["names may hold \"quotes\", blanks and ümlauts"] = tensor({7});
  content.metadata["vocabulary"] = "a\nb\n\u00e9\n\U0001f600\n\t\\\"";
  content.metadata[""] = "";
  save_safetensors(folder / "x", content);
  const SafeTensors loaded = load_safetensors(folder / "x");
  CHECK(loaded.metadata == content.metadata);
  REQUIRE(loaded.tensors.size() == content.tensors.size());
  for (const auto& entry : content.tensors) {  // clang 14 captures no structured binding
    CAPTURE(entry.first);
    REQUIRE(loaded.tensors.contains(entry.first));
    CHECK(identical(loaded.tensors.at(entry.first), entry.second));
  }
}

TEST_CASE("an empty file of tensors is one, too") {
  const TemporaryFolder folder;
  save_safetensors(folder / "x", {});
  CHECK(fs::file_size(folder / "x") == 16);
  CHECK(load_safetensors(folder / "x").tensors.empty());
}

TEST_CASE("files of other writers load: blanks, any order of keys, data in any order") {
  const TemporaryFolder folder;
  const std::string header =
      R"({ "z" : { "shape" : [1], "data_offsets" : [0, 4], "dtype" : "F32" },)"
      "\n"
      R"("a":{"dtype":"F32","shape":[],"data_offsets":[4,8]},)"
      R"("none":{"dtype":"F32","shape":[0],"data_offsets":[4,4]}})";
  write_file(folder / "x", file_of(header, 4) + std::string("\0\0\x80\x3f", 4));
  const SafeTensors content = load_safetensors(folder / "x");
  CHECK(content.tensors.at("z").at({0}) == 0);
  CHECK(content.tensors.at("a").item() == 1);
  CHECK(content.tensors.at("none").size() == 0);
}

struct Hostile {
  std::string what, bytes, message;
};

std::vector<Hostile> hostile_containers() {
  const std::string one = entry("a", "F32", "1", "0,4");
  return {
      {"empty", "", "at least 8 bytes, this one 0"},
      {"seven bytes", "1234567", "at least 8 bytes"},
      {"header longer than allowed", prefix(100'000'001) + "{}", "above 100000000"},
      {"header length that is negative when signed", prefix(~0ull) + "{}", "above 100000000"},
      {"header beyond the file", prefix(3) + "{}", "beyond the file"},
      {"header of no bytes", prefix(0), "not a JSON object"},
      {"header that is an array", file_of("[]", 0), "not a JSON object"},
      {"header that begins with a blank", file_of(" {}", 0), "not a JSON object"},
      {"header cut off", file_of("{" + one, 4), "not valid JSON"},
      {"text behind the header's object", file_of("{" + one + "}x", 4), "not valid JSON"},
      {"invalid UTF-8 in a name", file_of("{\"\xff\":" + one.substr(4) + "}", 4), "not valid JSON"},
      {"invalid UTF-8 outside of strings", file_of("{\xc3}", 0), "not valid JSON"},
      {"the same name twice", file_of("{" + one + "," + one + "}", 4), "\"a\" twice"},
      {"the same key twice in an entry",
       file_of(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
       "\"dtype\" twice"},
      {"deep nesting", file_of("{\"a\":" + std::string(100'000, '['), 0), "deeper"},
      {"deep nesting of objects",
       file_of(
           [] {
             std::string text;
             for (int i = 0; i < 1000; ++i) text += "{\"a\":";
             return text;
           }(),
           0),
       "deeper"},
      {"an entry that is no object", file_of(R"({"a":3})", 0), "not an object"},
      {"metadata that is no object", file_of(R"({"__metadata__":3})", 0), "not an object"},
      {"metadata that is no text", file_of(R"({"__metadata__":{"a":3}})", 0), "not a string"},
      {"a compressed file", std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03 and so on", 20), "beyond"},
  };
}

std::vector<Hostile> hostile_entries() {
  const auto one = [](const char* dtype, const char* shape, const char* offsets,
                      std::size_t data_size) {
    return file_of("{" + entry("a", dtype, shape, offsets) + "}", data_size);
  };
  const auto two = [](const char* first, const char* second, std::size_t data_size) {
    return file_of("{" + entry("a", "F32", "1", first) + "," + entry("b", "F32", "1", second) + "}",
                   data_size);
  };
  return {
      {"no dtype", file_of(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4), "dtype is missing"},
      {"no shape", file_of(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4), "shape is missing"},
      {"no offsets", file_of(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "data_offsets is missing"},
      {"a further key",
       file_of(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"x":0}})", 4),
       "unknown keys"},
      {"unknown dtype", one("F31", "1", "0,4", 4), "unknown type"},
      {"half precision", one("F16", "2", "0,4", 4), "F16 is not supported"},
      {"bfloat16", one("BF16", "2", "0,4", 4), "BF16 is not supported"},
      {"negative dimension", one("F32", "-1", "0,4", 4), "-1, which is no size"},
      {"fractional dimension", one("F32", "1.0", "0,4", 4), "1.0, which is no size"},
      {"dimension beyond 64 bits", one("F32", "18446744073709551616", "0,4", 4), "no size"},
      {"text as dimension", one("F32", "\"1\"", "0,4", 4), "no size"},
      {"product that overflows to the right size", one("F32", "4294967296,4294967296,1", "0,0", 0),
       "overflows"},
      {"product that overflows a signed size", one("F32", "4611686018427387904", "0,0", 0),
       "overflows"},
      {"a size beyond 63 bits next to a 0", one("F32", "0,9223372036854775808", "0,0", 0),
       "tensor a: the product of shape [0,9223372036854775808] overflows"},
      {"sizes that no 0 makes good", one("F32", "0,2305843009213693952", "0,0", 0),
       "tensor a: shape [0, 2305843009213693952]: too many elements"},
      {"seven dimensions", one("F32", "1,1,1,1,1,1,1", "0,4", 4), "7 dimensions"},
      {"one offset", one("F32", "1", "0", 4), "two numbers"},
      {"three offsets", one("F32", "1", "0,4,8", 4), "two numbers"},
      {"negative offset", one("F32", "1", "-4,0", 4), "no size"},
      {"reversed offsets", one("F32", "1", "4,0", 4), "reversed"},
      {"fewer bytes than the shape needs", one("F32", "2", "0,4", 4), "do not hold"},
      {"more bytes than the shape needs", one("F32", "1", "0,8", 8), "do not hold"},
      {"f32 offsets for f64", one("F64", "1", "0,4", 4), "do not hold"},
      {"data beyond the file", one("F32", "2", "0,8", 4), "reach beyond"},
      {"a huge tensor in a small file", one("F32", "1000000000000", "0,4000000000000", 4),
       "reach beyond"},
      {"data that does not begin at 0", one("F32", "1", "4,8", 8), "hole"},
      {"a hole between", two("0,4", "8,12", 12), "hole"},
      {"overlap", two("0,4", "2,6", 6), "overlaps"},
      {"the same data twice", two("0,4", "0,4", 4), "overlaps"},
      {"trailing bytes", one("F32", "1", "0,4", 5), "1 bytes behind"},
      {"bytes without tensors", file_of("{}", 8), "8 bytes behind"},
  };
}

TEST_CASE("a damaged or hostile file is a named error") {
  const TemporaryFolder folder;
  std::vector<Hostile> files = hostile_containers();
  for (const Hostile& file : hostile_entries()) files.push_back(file);
  for (const Hostile& file : files) {
    CAPTURE(file.what);
    write_file(folder / "hostile.safetensors", file.bytes);
    const std::string message =
        message_of([&] { load_safetensors(folder / "hostile.safetensors"); });
    CAPTURE(message);
    CHECK(contains(message, "hostile.safetensors"));
    CHECK(contains(message, file.message));
  }
}

TEST_CASE("any cut and any changed byte gives an error or a well-formed content") {
  const TemporaryFolder folder;
  save_safetensors(folder / "x", sample());
  const std::string good = read_file(folder / "x");
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_file(folder / "y", good.substr(0, size));
    CHECK_THROWS_AS(load_safetensors(folder / "y"), Error);
  }
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char value : {'\0', '\xff', '{', '"', '9', ' '}) {
      std::string bytes = good;
      bytes[i] = value;
      write_file(folder / "y", bytes);
      try {
        for (const auto& [name, tensor] : load_safetensors(folder / "y").tensors) {
          CHECK(tensor.bytes() == 8);
        }
      } catch (const Error&) {
      }
    }
  }
}

TEST_CASE("what is no file is a named error") {
  const TemporaryFolder folder;
  CHECK(contains(message_of([&] { load_safetensors(folder / "absent"); }), "no such file"));
  CHECK(contains(message_of([&] { load_safetensors(folder / ""); }), "not a regular file"));
  CHECK(contains(message_of([&] { load_safetensors("/dev/zero"); }), "not a regular file"));
  write_file(folder / "file", "x");
  CHECK_THROWS_AS(load_safetensors(folder / "file" / "below"), Error);
}

TEST_CASE("texts that are not UTF-8 and the reserved name cannot be saved") {
  const TemporaryFolder folder;
  SafeTensors content;
  content.metadata["key"] = "\xff";
  CHECK(contains(message_of([&] { save_safetensors(folder / "x", content); }), "UTF-8"));
  SafeTensors reserved;
  reserved.tensors["__metadata__"] = tensor({1});
  CHECK(contains(message_of([&] { save_safetensors(folder / "x", reserved); }), "__metadata__"));
  CHECK(folder.file_count() == 0);
}

}  // namespace regrad
