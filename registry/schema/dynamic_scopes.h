// The dynamic scopes of a schema: on each way to a subschema, which dynamic anchor of each name is
// the outermost. Known when the schema is compiled, as the ways are: what a value does only decides
// which of them are taken (JSON Schema 2020-12 core, section 8.2.3.2; 2019-09, section 8.2.4.2).
#ifndef TOOLRACK_REGISTRY_SCHEMA_DYNAMIC_SCOPES_H_
#define TOOLRACK_REGISTRY_SCHEMA_DYNAMIC_SCOPES_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "registry/schema/index.h"

namespace toolrack {

class DynamicScopes {
 public:
  using Id = size_t;

  // `index` must outlive this.
  explicit DynamicScopes(const SchemaIndex& index) : index_(index), scopes_(1) { ids_[{}] = 0; }

  // Before anything was entered.
  Id Outermost() const { return 0; }
  // The scope inside `resource`, reached from `from`. The same names bound alike are one scope, so
  // a schema without dynamic anchors has one in all.
  Id Enter(Id from, size_t resource) {
    const SchemaIndex::DynamicAnchors& anchors = index_.DynamicAnchorsOf(resource);
    if (anchors.empty()) return from;
    const auto [known, fresh] = entered_.try_emplace({from, resource}, from);
    if (!fresh) return known->second;
    SchemaIndex::DynamicAnchors bound = scopes_[from];
    bound.insert(anchors.begin(), anchors.end());  // what is bound stays
    const auto [id, is_new] = ids_.try_emplace(bound, scopes_.size());
    if (is_new) scopes_.push_back(std::move(bound));
    return known->second = id->second;
  }
  // nullptr: no resource on the way has such an anchor.
  const Json* Find(Id scope, const std::string& anchor) const {
    const auto at = scopes_[scope].find(anchor);
    return at == scopes_[scope].end() ? nullptr : at->second;
  }

 private:
  const SchemaIndex& index_;
  std::vector<SchemaIndex::DynamicAnchors> scopes_;
  std::map<SchemaIndex::DynamicAnchors, Id> ids_;
  std::map<std::pair<Id, size_t>, Id> entered_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_DYNAMIC_SCOPES_H_
