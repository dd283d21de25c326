// Where the subschemas of a document lie, what they are called, and what a `$ref` in it means.
// Nothing is looked at but the document and those handed over with it.
#ifndef TOOLRACK_REGISTRY_SCHEMA_INDEX_H_
#define TOOLRACK_REGISTRY_SCHEMA_INDEX_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/base/json.h"
#include "registry/schema/keywords.h"
#include "registry/schema/schema.h"

namespace toolrack {

// `token` as one step of a JSON Pointer (RFC 6901), slash included.
std::string PointerStep(absl::string_view token);

class SchemaIndex {
 public:
  // A fault in a name (`$id`, `$anchor` …): the message, by the pointer of the keyword.
  struct Fault {
    std::string pointer;
    std::string message;
  };

  // `document` and `options` must outlive the index. The other documents of the options are read
  // when a reference needs them, under the same limits.
  SchemaIndex(const Json& document, Dialect dialect, const SchemaOptions& options);

  const std::vector<Fault>& faults() const { return faults_; }

  // The JSON Pointer of a subschema.
  const std::string& PointerOf(const Json* schema) const { return places_.at(schema).pointer; }

  // What `reference`, written in the subschema `from`, means. The error says why it means nothing.
  absl::StatusOr<const Json*> Resolve(const Json* from, absl::string_view reference);
  // The same for `$dynamicRef` and `$recursiveRef`. `anchor`: the outermost resource on the way to
  // the subschema that has a dynamic anchor of this name decides; `target` when there is none.
  struct DynamicTarget {
    const Json* target;
    std::optional<std::string> anchor;
  };
  absl::StatusOr<DynamicTarget> ResolveDynamic(const Json* from, absl::string_view reference);
  absl::StatusOr<DynamicTarget> ResolveRecursive(const Json* from, absl::string_view reference);

  // The part with its own base URI that a subschema belongs to, and the dynamic anchors in it;
  // `$recursiveAnchor` is one without a name.
  using DynamicAnchors = std::map<std::string, const Json*>;
  size_t ResourceOf(const Json* schema) const { return places_.at(schema).resource; }
  const DynamicAnchors& DynamicAnchorsOf(size_t resource) const {
    return resources_[resource].dynamic_anchors;
  }

 private:
  struct Place {
    std::string pointer;
    size_t resource;
  };
  // A part of the document with its own base URI.
  struct Resource {
    std::string uri;
    const Json* root;
    bool whole_document;
    DynamicAnchors dynamic_anchors = {};
  };

  void Walk(const Json& schema, std::string pointer, size_t resource, bool named);
  void WalkKeyword(const Keyword& keyword, const Json& value, const std::string& pointer,
                   size_t resource, bool named);
  size_t Identify(const Json& schema, const std::string& pointer, size_t resource);
  void AddAnchor(const Json& schema, const Json& name, const std::string& pointer, size_t resource,
                 bool dynamic);
  absl::StatusOr<const Json*> FollowPointer(size_t resource, absl::string_view pointer);
  std::optional<size_t> FindResource(const std::string& uri);
  bool Before(Dialect dialect) const { return dialect_ < dialect; }

  const Dialect dialect_;
  const SchemaOptions& options_;
  std::vector<std::unique_ptr<const Json>> documents_;
  std::vector<Resource> resources_;
  std::map<std::string, size_t> by_uri_;
  std::map<std::pair<size_t, std::string>, const Json*> anchors_;
  absl::flat_hash_map<const Json*, Place> places_;
  std::vector<Fault> faults_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_INDEX_H_
