//! The requests of the protocol. Each is passed to the file that handles it.

use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerConfig, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};

use super::Server;

/// The requests that are handled here if their parameters are valid.
const KNOWN: [&str; 13] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
];

/// Requests only of clients with a handshake, and requests only of clients without.
const ONLY_OLDER: &[&str] = &["initialize", "ping", "resources/subscribe", "resources/unsubscribe"];
const ONLY_NEWER: &[&str] = &["subscriptions/listen"];

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

/// The library moves the future of a request several times, and that future is as large as the
/// largest of these. So futures that do more than copy a list are boxed.
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        self.inner.config.clone()
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.inner.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.inner.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        Box::pin(self.call(params, context)).await
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(self.prompts())
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(Box::pin(self.prompt(params, &context.meta)).await?.into())
    }

    /// We offer no completions, and do not announce any.
    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_resources(
        &self,
        page: Page,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = Box::pin(self.resources(page)).await?;
        // A newer client subscribes explicitly.
        let is_older = context.protocol_version().is_none_or(|it| it.has_initialize());
        if is_older {
            Box::pin(self.list_was_shown(context.peer)).await;
        }
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(self.templates())
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        Ok(Box::pin(self.resource(params.uri, &context.meta)).await?.into())
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: Context,
    ) -> Result<(), ErrorData> {
        if !Self::is_resource(&params.uri) {
            return Err(ErrorData::resource_not_found("there is no such resource", None));
        }
        if !Box::pin(self.subscribe_to(params.uri, context.peer)).await {
            return Err(ErrorData::invalid_params("too many subscriptions", None));
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: Context,
    ) -> Result<(), ErrorData> {
        self.unsubscribe_from(&params.uri);
        Ok(())
    }

    /// Unknown requests. A known request with invalid parameters comes here too, and must not be
    /// answered with "method not found".
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(80).collect();
        let is_older = context.protocol_version().is_none_or(|it| it.has_initialize());
        let others = if is_older { ONLY_NEWER } else { ONLY_OLDER };
        if KNOWN.contains(&method.as_str()) && !others.contains(&method.as_str()) {
            let what = format!("invalid parameters for {method}");
            return Err(ErrorData::invalid_params(what, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(Self::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        Box::pin(self.serve_subscription(context)).await;
        Ok(())
    }
}
