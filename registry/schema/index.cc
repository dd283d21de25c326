#include "registry/schema/index.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "registry/base/errors.h"
#include "registry/schema/uri.h"

namespace toolrack {
namespace {

// RFC 6901: ~1 is a slash, ~0 a tilde; nothing else may follow a tilde.
std::optional<std::string> UnescapeToken(absl::string_view token) {
  std::string out;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out.push_back(token[i]);
    } else if (i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      out.push_back(token[++i] == '0' ? '~' : '/');
    } else {
      return std::nullopt;
    }
  }
  return out;
}

bool IsAnchorName(absl::string_view name) {
  if (name.empty() || !(absl::ascii_isalpha(name[0]) || name[0] == '_')) return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '-' && c != '.' && c != ':') return false;
  }
  return true;
}

}  // namespace

std::string PointerStep(absl::string_view token) {
  return absl::StrCat("/", absl::StrReplaceAll(token, {{"~", "~0"}, {"/", "~1"}}));
}

SchemaIndex::SchemaIndex(const Json& document, Dialect dialect, const SchemaOptions& options)
    : dialect_(dialect), options_(options) {
  resources_.push_back({"", &document, true});
  by_uri_[""] = 0;
  Walk(document, "", 0, true);
}

std::optional<size_t> SchemaIndex::FindResource(const std::string& uri) {
  const auto known = by_uri_.find(uri);
  if (known != by_uri_.end()) return known->second;
  for (const SchemaDocument& each : options_.documents) {
    if (SplitFragment(each.uri).document != uri) continue;
    auto document = std::make_unique<Json>();
    const SchemaLimits& limits = options_.limits;
    const auto parsed =
        ParseJson(each.text, {limits.max_bytes, limits.max_depth, limits.max_nodes}, *document);
    const bool schema = document->is_object() || document->is_boolean();
    if (std::holds_alternative<JsonFault>(parsed) || !schema) return std::nullopt;
    const size_t resource = resources_.size();
    resources_.push_back({uri, document.get(), true});
    by_uri_[uri] = resource;
    Walk(*document, absl::StrCat(uri, "#"), resource, true);
    documents_.push_back(std::move(document));
    return resource;
  }
  return std::nullopt;
}

void SchemaIndex::Walk(const Json& schema, std::string pointer, size_t resource, bool named) {
  const auto [at, fresh] = places_.try_emplace(&schema, Place{pointer, resource});
  if (!fresh || !schema.is_object()) return;
  if (named) {
    resource = Identify(schema, pointer, resource);
    places_[&schema].resource = resource;
  }
  for (const auto& [name, value] : schema.items()) {
    const Keyword* keyword = FindKeyword(name);
    if (keyword == nullptr || keyword->shape == Shape::kNone) continue;
    WalkKeyword(*keyword, value, absl::StrCat(pointer, "/", name), resource, named);
  }
}

void SchemaIndex::WalkKeyword(const Keyword& keyword, const Json& value, const std::string& pointer,
                              size_t resource, bool named) {
  switch (keyword.shape) {
    case Shape::kNone:
      return;
    case Shape::kSchemas:
    case Shape::kSchemaOrSchemas:
      if (value.is_array()) {
        for (size_t i = 0; i < value.size(); ++i) {
          Walk(value[i], absl::StrCat(pointer, "/", i), resource, named);
        }
        return;
      }
      if (keyword.shape == Shape::kSchemas) return;
      Walk(value, pointer, resource, named);
      return;
    case Shape::kSchema:
      Walk(value, pointer, resource, named);
      return;
    case Shape::kNamedSchemas:
    case Shape::kDependencies:
      if (!value.is_object()) return;
      for (const auto& [name, each] : value.items()) {
        if (each.is_array()) continue;
        Walk(each, pointer + PointerStep(name), resource, named);
      }
  }
}

// Takes the names that the subschema gives itself. Returns the resource that it belongs to.
size_t SchemaIndex::Identify(const Json& schema, const std::string& pointer, size_t resource) {
  const char* id_keyword = dialect_ == Dialect::kDraft4 ? "id" : "$id";
  const auto id = schema.find(id_keyword);
  // Before 2019-09, `$ref` hides everything beside it.
  const bool hidden = Before(Dialect::k2019_09) && schema.contains("$ref");
  if (id != schema.end() && !hidden) {
    const std::string at = absl::StrCat(pointer, "/", id_keyword);
    if (!id->is_string()) {
      faults_.push_back({at, absl::StrCat("`", id_keyword, "` must be a string")});
      return resource;
    }
    const UriParts parts =
        SplitFragment(ResolveUri(resources_[resource].uri, id->get_ref<const std::string&>()));
    const bool only_anchor = absl::StartsWith(id->get_ref<const std::string&>(), "#");
    if (!parts.fragment.empty() && !(only_anchor && Before(Dialect::k2019_09))) {
      faults_.push_back({at, absl::StrCat("`", id_keyword, "` must not have a fragment")});
    } else if (only_anchor) {
      if (!parts.fragment.empty()) AddAnchor(schema, parts.fragment, at, resource, false);
    } else if (resources_[resource].whole_document && &schema == resources_[resource].root) {
      resources_[resource].uri = parts.document;
      by_uri_.emplace(parts.document, resource);
    } else {
      resources_.push_back({parts.document, &schema, false});
      resource = resources_.size() - 1;
      if (!by_uri_.emplace(parts.document, resource).second) {
        faults_.push_back(
            {at, absl::StrCat("`", id_keyword, "` is given twice: ", ForMessage(parts.document))});
      }
    }
  }
  if (dialect_ >= Dialect::k2019_09) {
    const auto anchor = schema.find("$anchor");
    if (anchor != schema.end()) {
      AddAnchor(schema, *anchor, pointer + "/$anchor", resource, false);
    }
  }
  if (dialect_ == Dialect::k2019_09 && &schema == resources_[resource].root) {
    const auto anchor = schema.find("$recursiveAnchor");
    if (anchor != schema.end() && *anchor == true)
      resources_[resource].dynamic_anchors[""] = &schema;
  }
  if (dialect_ == Dialect::k2020_12) {
    const auto anchor = schema.find("$dynamicAnchor");
    if (anchor != schema.end()) {
      AddAnchor(schema, *anchor, pointer + "/$dynamicAnchor", resource, true);
    }
  }
  return resource;
}

void SchemaIndex::AddAnchor(const Json& schema, const Json& name, const std::string& pointer,
                            size_t resource, bool dynamic) {
  if (!name.is_string() || !IsAnchorName(name.get_ref<const std::string&>())) {
    faults_.push_back({pointer, "an anchor must be a string of letters, digits, `-`, `_`, `.`"});
    return;
  }
  const auto& text = name.get_ref<const std::string&>();
  if (dynamic) resources_[resource].dynamic_anchors.emplace(text, &schema);
  const auto [at, fresh] = anchors_.emplace(std::make_pair(resource, text), &schema);
  if (!fresh && at->second != &schema) {
    faults_.push_back({pointer, absl::StrCat("the anchor `", text, "` is given twice")});
  }
}

absl::StatusOr<const Json*> SchemaIndex::Resolve(const Json* from, absl::string_view reference) {
  const UriParts parts =
      SplitFragment(ResolveUri(resources_[places_.at(from).resource].uri, reference));
  const std::optional<size_t> resource = FindResource(parts.document);
  if (!resource) {
    return absl::NotFoundError(absl::StrCat("`", ForMessage(reference),
                                            "` lies outside the schema and nothing is fetched;"
                                            " put what it means under `$defs`"));
  }
  const std::optional<std::string> fragment = PercentDecode(parts.fragment);
  if (!fragment) {
    return absl::NotFoundError(
        absl::StrCat("`", ForMessage(reference), "` has a faulty percent escape"));
  }
  if (fragment->empty()) return resources_[*resource].root;
  if ((*fragment)[0] == '/') return FollowPointer(*resource, *fragment);
  const auto anchor = anchors_.find({*resource, *fragment});
  if (anchor == anchors_.end()) {
    return absl::NotFoundError(
        absl::StrCat("no subschema is named by `", ForMessage(reference), "`"));
  }
  return anchor->second;
}

absl::StatusOr<const Json*> SchemaIndex::FollowPointer(size_t resource, absl::string_view pointer) {
  const auto nothing = [pointer] {
    return absl::NotFoundError(absl::StrCat("nothing lies at `#", ForMessage(pointer), "`"));
  };
  const Json* value = resources_[resource].root;
  const Json* nearest = value;  // the innermost subschema on the way
  std::string way = places_.at(value).pointer;
  for (const absl::string_view token : absl::StrSplit(pointer.substr(1), '/')) {
    const std::optional<std::string> name = UnescapeToken(token);
    if (!name) return nothing();
    if (value->is_object()) {
      const auto member = value->find(*name);
      if (member == value->end()) return nothing();
      value = &*member;
    } else if (value->is_array()) {
      size_t i;
      if (!absl::SimpleAtoi(*name, &i) || absl::StrCat(i) != *name || i >= value->size()) {
        return nothing();
      }
      value = &(*value)[i];
    } else {
      return nothing();
    }
    way += PointerStep(*name);
    if (places_.contains(value)) nearest = value;
  }
  if (!value->is_object() && !value->is_boolean()) {
    return absl::NotFoundError(
        absl::StrCat("`#", ForMessage(pointer), "` is not a schema (an object or a boolean)"));
  }
  // A place that only this reference makes a schema: its names count for nothing.
  if (!places_.contains(value)) Walk(*value, way, places_.at(nearest).resource, false);
  return value;
}

absl::StatusOr<SchemaIndex::DynamicTarget> SchemaIndex::ResolveDynamic(
    const Json* from, absl::string_view reference) {
  const absl::StatusOr<const Json*> target = Resolve(from, reference);
  if (!target.ok()) return target.status();
  DynamicTarget out{*target, std::nullopt};
  const std::string fragment = SplitFragment(reference).fragment;
  const DynamicAnchors& anchors = DynamicAnchorsOf(ResourceOf(*target));
  const auto anchor = anchors.find(fragment);
  if (anchor != anchors.end() && anchor->second == *target) out.anchor = fragment;
  return out;
}

absl::StatusOr<SchemaIndex::DynamicTarget> SchemaIndex::ResolveRecursive(
    const Json* from, absl::string_view reference) {
  const absl::StatusOr<const Json*> target = Resolve(from, reference);
  if (!target.ok()) return target.status();
  DynamicTarget out{*target, std::nullopt};
  const DynamicAnchors& anchors = DynamicAnchorsOf(ResourceOf(*target));
  const auto anchor = anchors.find("");
  if (anchor != anchors.end() && anchor->second == *target) out.anchor = "";
  return out;
}

}  // namespace toolrack
