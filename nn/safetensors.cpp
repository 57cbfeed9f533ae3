#include "nn/safetensors.h"

#include <bit>
#include <cstdint>
#include <fstream>
#include <span>
#include <utility>
#include <vector>

#include "nn/replace_file.h"
#include "nn/safetensors_header.h"
#include "ops/error.h"

namespace regrad {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's numbers are little-endian");
constexpr std::uint64_t prefix_size = 8;

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return visit(tensor.dtype(), [&](auto zero) {
    return std::as_bytes(
        std::span(tensor.data<decltype(zero)>(), static_cast<std::size_t>(tensor.size())));
  });
}

// The widest numbers first, so that every tensor is aligned; then by name.
std::vector<std::pair<std::string, Tensor>> in_file_order(const SafeTensors& content) {
  std::vector<std::pair<std::string, Tensor>> ordered;
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const auto& [name, tensor] : content.tensors) {
      if (tensor.dtype() == dtype) ordered.emplace_back(name, tensor);
    }
  }
  return ordered;
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) {
    if (!std::filesystem::exists(path)) fail("no such file");
    if (!std::filesystem::is_regular_file(path)) fail("not a regular file");
    size_ = std::filesystem::file_size(path);
    stream_.open(path, std::ios::binary);
    if (!stream_) fail("cannot be opened for reading");
  }

  std::uint64_t size() const { return size_; }

  void read(void* target, std::uint64_t bytes) {
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (!stream_) fail("cannot be read to its end");
  }

 private:
  std::ifstream stream_;
  std::uint64_t size_ = 0;
};

std::string read_header(Reader& reader) {
  if (reader.size() < prefix_size) {
    fail("a safetensors file has at least {} bytes, this one {}", prefix_size, reader.size());
  }
  std::uint64_t header_size = 0;
  reader.read(&header_size, prefix_size);
  if (header_size > safetensors::longest_header) {
    fail("the header length {} is above {}; is this a safetensors file?", header_size,
         safetensors::longest_header);
  }
  if (header_size > reader.size() - prefix_size) {
    fail("the header length {} reaches beyond the file's {} bytes", header_size, reader.size());
  }
  std::string text(header_size, ' ');
  reader.read(text.data(), header_size);
  return text;
}

SafeTensors read_content(const std::filesystem::path& path) {
  Reader reader(path);
  const std::string text = read_header(reader);
  const safetensors::Header header =
      safetensors::parse_header(text, reader.size() - prefix_size - text.size());
  SafeTensors content{{}, header.metadata};
  for (const safetensors::Entry& entry : header.entries) {
    Tensor tensor(entry.shape, entry.dtype);
    visit(entry.dtype, [&](auto zero) {
      reader.read(tensor.mutable_data<decltype(zero)>(), entry.end - entry.begin);
    });
    content.tensors.emplace(entry.name, std::move(tensor));
  }
  return content;
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const SafeTensors& content) {
  safetensors::Header header{{}, content.metadata};
  const auto ordered = in_file_order(content);
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : ordered) {
    const std::uint64_t begin = end;
    end += bytes_of(tensor).size();
    header.entries.push_back({name, tensor.dtype(), tensor.shape(), begin, end});
  }
  std::string text;
  try {
    text = safetensors::write_header(header);
  } catch (const Error& error) {
    fail("safetensors: {}: {}", path.string(), error.what());
  }
  const std::uint64_t header_size = text.size();
  std::vector parts{std::as_bytes(std::span(&header_size, 1)), std::as_bytes(std::span(text))};
  for (const auto& [name, tensor] : ordered) parts.push_back(bytes_of(tensor));
  replace_file(path, parts);
}

SafeTensors load_safetensors(const std::filesystem::path& path) {
  try {
    return read_content(path);
  } catch (const Error& error) {
    fail("safetensors: {}: {}", path.string(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    fail("safetensors: {}: {}", path.string(), error.code().message());
  }
}

}  // namespace regrad
