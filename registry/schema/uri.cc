#include "registry/schema/uri.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

struct Uri {
  std::string scheme;  // with its colon
  bool has_authority = false;
  std::string authority;
  std::string path;
  std::string rest;  // query and fragment, with `?` and `#`
  std::string query() const { return rest.substr(0, rest.find('#')); }
};

Uri Parse(absl::string_view text) {
  Uri uri;
  const size_t end = text.find_first_of(":/?#");
  if (end != absl::string_view::npos && end > 0 && text[end] == ':' &&
      absl::ascii_isalpha(text[0])) {
    uri.scheme = absl::AsciiStrToLower(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  if (absl::StartsWith(text, "//")) {
    uri.has_authority = true;
    const size_t authority_end = std::min(text.find_first_of("/?#", 2), text.size());
    uri.authority = absl::AsciiStrToLower(text.substr(2, authority_end - 2));
    text.remove_prefix(authority_end);
  }
  const size_t path_end = std::min(text.find_first_of("?#"), text.size());
  uri.path = std::string(text.substr(0, path_end));
  uri.rest = std::string(text.substr(path_end));
  return uri;
}

std::string RemoveDots(absl::string_view path) {
  std::string out;
  while (!path.empty()) {
    if (absl::StartsWith(path, "../")) {
      path.remove_prefix(3);
    } else if (absl::StartsWith(path, "./")) {
      path.remove_prefix(2);
    } else if (absl::StartsWith(path, "/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (absl::StartsWith(path, "/../") || path == "/..") {
      if (path == "/..") {
        path = "/";
      } else {
        path.remove_prefix(3);
      }
      const size_t slash = out.rfind('/');
      out.resize(slash == std::string::npos ? 0 : slash);
    } else if (path == "." || path == "..") {
      path = "";
    } else {
      const size_t next = std::min(path.find('/', 1), path.size());
      out.append(path.data(), next);
      path.remove_prefix(next);
    }
  }
  return out;
}

}  // namespace

std::string ResolveUri(absl::string_view base, absl::string_view reference) {
  const Uri from = Parse(base);
  Uri to = Parse(reference);
  if (to.scheme.empty() && !base.empty()) {
    to.scheme = from.scheme;
    if (!to.has_authority) {
      to.has_authority = from.has_authority;
      to.authority = from.authority;
      if (to.path.empty()) {
        to.path = from.path;
        if (!absl::StartsWith(to.rest, "?")) to.rest = from.query() + to.rest;
      } else if (to.path[0] != '/') {
        const size_t slash = from.path.rfind('/');
        const std::string folder = slash != std::string::npos
                                       ? from.path.substr(0, slash + 1)
                                       : (from.has_authority ? std::string("/") : std::string());
        to.path = RemoveDots(folder + to.path);
      } else {
        to.path = RemoveDots(to.path);
      }
    } else {
      to.path = RemoveDots(to.path);
    }
  } else if (!to.scheme.empty() && absl::StartsWith(to.path, "/")) {
    to.path = RemoveDots(to.path);
  }
  return absl::StrCat(to.scheme, to.has_authority ? "//" : "", to.authority, to.path, to.rest);
}

UriParts SplitFragment(absl::string_view uri) {
  const size_t hash = uri.find('#');
  if (hash == absl::string_view::npos) return {std::string(uri), ""};
  return {std::string(uri.substr(0, hash)), std::string(uri.substr(hash + 1))};
}

std::optional<std::string> PercentDecode(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) ||
        !absl::ascii_isxdigit(text[i + 2])) {
      return std::nullopt;
    }
    const auto digit = [](char c) {
      return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10;
    };
    out.push_back(static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])));
    i += 2;
  }
  return out;
}

}  // namespace toolrack
