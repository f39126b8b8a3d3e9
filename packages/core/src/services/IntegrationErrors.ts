/**
 * Why a call of `Integrations` changed nothing.
 */
import { Schema } from "effect"
import { IntegrationId } from "../domain/Ids.ts"
import { Scope } from "../domain/Integration.ts"
import { DocumentProblem, MismatchReason } from "../domain/IntegrationDocument.ts"

/** There is no such building or tenant, or the user has no right to it. */
export class ScopeNotFound extends Schema.TaggedError<ScopeNotFound>()("ScopeNotFound", { scope: Scope }) {
  override get message(): string {
    return `There is no ${this.scope.type} ${this.scope.id} that you may manage.`
  }
}

/** There is no such integration in the building or of the tenant. */
export class IntegrationNotFound extends Schema.TaggedError<IntegrationNotFound>()("IntegrationNotFound", {
  id: IntegrationId
}) {
  override get message(): string {
    return `There is no integration ${this.id} here.`
  }
}

/** The document is about something else than the request. */
export class DocumentMismatch extends Schema.TaggedError<DocumentMismatch>()("DocumentMismatch", {
  reason: MismatchReason
}) {
  override get message(): string {
    switch (this.reason) {
      case "wrong_type":
        return "The type of the resource must be `integrations`."
      case "wrong_id":
        return "The id of the resource is not the one in the path."
      case "client_made_id":
        return "The id of an integration is made by the service; leave `id` out."
    }
  }
}

/** The document says something that can't be: all that is wrong with it. Nothing was changed. */
export class InvalidIntegration extends Schema.TaggedError<InvalidIntegration>()("InvalidIntegration", {
  problems: Schema.Array(DocumentProblem)
}) {
  override get message(): string {
    return this.problems.map(({ pointer, detail }) => `${pointer}: ${detail}`).join(" ")
  }
}

/** The integration is not in the version that the caller has seen. */
export class VersionConflict extends Schema.TaggedError<VersionConflict>()("VersionConflict", { id: IntegrationId }) {
  override get message(): string {
    return `Integration ${this.id} has been changed meanwhile. Get it again and repeat the change.`
  }
}
