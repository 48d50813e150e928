#include "bench/peer_table.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace gyre::bench {
namespace {

using nlohmann::json;

/// An absent member stays empty. False if one has another type.
bool read_words(const json& object, LaunchWords* words) {
  if (!object.is_object()) return false;
  if (const auto it = object.find("launcher"); it != object.end()) {
    if (!it->is_array()) return false;
    for (const auto& word : *it) {
      if (!word.is_string()) return false;
      words->arguments.push_back(word.get<std::string>());
    }
  }
  if (const auto it = object.find("environment"); it != object.end()) {
    if (!it->is_object()) return false;
    for (const auto& [name, value] : it->items()) {
      if (!value.is_string()) return false;
      words->environment[name] = value.get<std::string>();
    }
  }
  return true;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view blank = " \t\r";
  while (true) {
    const auto begin = line.find_first_not_of(blank);
    if (begin == std::string_view::npos || line[begin] == '#') return words;
    line.remove_prefix(begin);
    const auto end = std::min(line.find_first_of(blank), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool is_assignment(std::string_view word) {
  const auto equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || word[0] == '-') return false;
  const auto name = word.substr(0, equals);
  return name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
         std::string_view::npos;
}

}  // namespace

Result<std::vector<Peer>> parse_peers(std::string_view text, const std::string& folder) {
  const auto wrong = [](std::string_view what) {
    return Status(Code::invalid_argument,
                  fmt::format("peers.json: {}; build again to write it anew", what));
  };
  if (text.size() > table_bytes_max) return wrong("too large");
  const json table = json::parse(text, nullptr, false);
  if (!table.is_object()) return wrong("no JSON object");
  std::vector<Peer> peers;
  for (const auto& item : table.items()) {
    const std::string& name = item.key();
    const json& row = item.value();
    Peer peer;
    peer.name = name;
    const auto text_of = [&row](const char* member) {
      const auto it = row.find(member);
      return it != row.end() && it->is_string() ? it->get<std::string>() : std::string();
    };
    if (!read_words(row, &peer.launch)) return wrong("row " + name);
    if (const auto it = row.find("oversubscribed"); it != row.end())
      if (!read_words(*it, &peer.oversubscribed)) return wrong("row " + name + ", oversubscribed");
    const std::string program = text_of("program");
    if (!program.empty()) peer.program = program[0] == '/' ? program : folder + "/" + program;
    peer.install = text_of("install");
    const auto stop = row.find("stop_between_orders");
    peer.stop_between_orders = stop != row.end() && stop->is_boolean() && stop->get<bool>();
    peers.push_back(std::move(peer));
  }
  return peers;
}

Result<std::vector<Variant>> parse_variants(std::string_view text) {
  std::vector<Variant> variants;
  if (text.size() > table_bytes_max) return Status(Code::invalid_argument, "variants: too large");
  for (int number = 1; !text.empty(); ++number) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto words = split(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    const auto wrong = [number](std::string_view what) {
      return Status(Code::invalid_argument, fmt::format("variants, line {}: {}", number, what));
    };
    if (words.size() < 2) return wrong("a peer and a variant's name are needed");
    if (variants.size() == variants_max)
      return wrong(fmt::format("more than {} variants", variants_max));
    Variant variant{std::string(words[0]), std::string(words[1]), {}};
    for (const auto& other : variants)
      if (other.peer == variant.peer && other.name == variant.name)
        return wrong(fmt::format("{} {} is there twice", variant.peer, variant.name));
    for (std::size_t i = 2; i < words.size(); ++i) {
      if (!is_assignment(words[i])) {
        variant.words.arguments.emplace_back(words[i]);
        continue;
      }
      const auto equals = words[i].find('=');
      variant.words.environment[std::string(words[i].substr(0, equals))] =
          std::string(words[i].substr(equals + 1));
    }
    variants.push_back(std::move(variant));
  }
  return variants;
}

}  // namespace gyre::bench
