#include "cresset/graph/script/source_map.h"

#include <algorithm>

#include "cresset/io/pickle.h"

namespace cresset::graph::script {

namespace {

// Of all sources: a table's lines may be named any number of times.
constexpr size_t kMostText = size_t{64} << 20;
constexpr std::string_view kFormat = "FORMAT_WITH_STRING_TABLE";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    out.push_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

}  // namespace

// A tuple of the format's name, a table of lines and names of files, and the places, each with a number: (at, ((lines, file, first line), start, end), number).
std::string write_source_map(const Places& places) {
  std::vector<std::string> table{""};
  std::unordered_map<std::string, int64_t> numbers{{"", 0}};
  const auto number = [&](const std::string& text) {
    const auto [found, is_new] = numbers.emplace(text, static_cast<int64_t>(table.size()));
    if (is_new) table.push_back(text);
    return found->second;
  };
  struct Text {
    std::vector<int64_t> lines;
    int64_t file = 0, first_line = 0;
  };
  std::map<const Source*, Text> texts{{nullptr, Text()}};
  for (const Place& p : places) {
    const Source* source = p.range.source.get();
    if (texts.count(source)) continue;
    Text& t = texts[source];
    for (const std::string& line : lines_of(source->text)) t.lines.push_back(number(line));
    t.file = number(source->file);
    t.first_line = source->first_line;
  }
  io::Pickler p;
  p.mark();
  p.text(kFormat);
  p.mark();
  for (const std::string& text : table) p.long_text(text);
  p.op('t');
  p.mark();
  int64_t count = 0;
  for (const Place& place : places) {
    const Text& t = texts[place.range.source.get()];
    p.mark();
    p.integer(static_cast<int64_t>(place.at));
    p.mark();
    p.mark();
    p.global("torch.jit._pickle", "build_intlist");
    p.op(']');
    p.mark();
    for (const int64_t line : t.lines) p.integer(line);
    p.op('e');
    p.op('\x85');
    p.op('R');
    p.integer(t.file);
    p.integer(t.first_line);
    p.op('t');
    p.integer(static_cast<int64_t>(place.range.start));
    p.integer(static_cast<int64_t>(place.range.end));
    p.op('t');
    p.integer(count++);
    p.op('t');
  }
  p.op('t');
  p.op('t');
  return p.finish();
}

Places read_source_map(const std::string& bytes) {
  io::Document document;
  std::string_view rest = bytes;
  io::UnpickleOptions options;
  options.script = true;
  const io::NodeId root = io::unpickle(document, rest, options);
  const auto expect = [&](bool holds) { CRESSET_CHECK(holds, "archive: the places of its code are of an unknown form"); };
  const auto tuple = [&](io::NodeId id, size_t least) -> const std::vector<io::NodeId>& {
    expect(document[id].kind == io::Kind::Tuple && document.children(id).size() >= least);
    return document.children(id);
  };
  const auto integer = [&](io::NodeId id) {
    expect(document[id].kind == io::Kind::Int && document[id].integer >= 0);
    return document[id].integer;
  };
  const auto& whole = tuple(root, 3);
  expect(document[whole[0]].kind == io::Kind::Text && document[whole[0]].text == kFormat);
  const auto& table = tuple(whole[1], 0);
  const auto text = [&](int64_t i) {
    expect(static_cast<size_t>(i) < table.size() && document[table[static_cast<size_t>(i)]].kind == io::Kind::Text);
    return std::string(document[table[static_cast<size_t>(i)]].text);
  };
  std::map<std::vector<int64_t>, std::shared_ptr<const Source>> sources;
  Places places;
  size_t total = 0;
  for (const io::NodeId entry : tuple(whole[2], 0)) {
    const auto& parts = tuple(entry, 2);
    const auto& range = tuple(parts[1], 3);
    const auto& from = tuple(range[0], 3);
    Place place;
    place.at = static_cast<size_t>(integer(parts[0]));
    expect(document[from[0]].kind == io::Kind::List);
    std::vector<int64_t> key{integer(from[1]), integer(from[2])};
    for (const io::NodeId line : document.children(from[0])) key.push_back(integer(line));
    if (key.size() > 2) {
      auto& source = sources[key];
      if (!source) {
        auto made = std::make_shared<Source>();
        made->file = text(key[0]);
        made->first_line = static_cast<int>(std::min<int64_t>(key[1], 1 << 30));
        for (size_t i = 2; i < key.size(); i++) {
          made->text += text(key[i]);
          expect(made->text.size() <= kMostText - total);
        }
        total += made->text.size();
        source = std::move(made);
      }
      place.range = {source, std::min(static_cast<size_t>(integer(range[1])), source->text.size()),
                     std::min(static_cast<size_t>(integer(range[2])), source->text.size())};
      place.range.end = std::max(place.range.start, place.range.end);
    }
    expect(places.empty() || places.back().at <= place.at);
    places.push_back(std::move(place));
  }
  return places;
}

const Range* ArchiveSource::origin(size_t at) const {
  std::call_once(read_, [&] {
    if (map.empty()) return;
    try {
      places_ = read_source_map(map);
    } catch (const Error&) {  // the error that asks is more important
    }
  });
  const auto after = std::upper_bound(places_.begin(), places_.end(), at, [](size_t wanted, const Place& p) { return wanted < p.at; });
  if (after == places_.begin()) return nullptr;
  const Range& found = std::prev(after)->range;
  return found.source ? &found : nullptr;
}
const Range* origin_of(const Range& range) {
  if (!range.source) return nullptr;
  return range.source->archive ? static_cast<const ArchiveSource&>(*range.source).origin(range.start) : &range;
}

}  // namespace cresset::graph::script
