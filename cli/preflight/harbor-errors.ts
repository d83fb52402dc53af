/**
 * What a job of Harbor 0.26 must set if its trials run over E2B's wire: it grades after every exception that it does not know, and these
 * are raised if a gateway takes no connection or breaks it. With several gateways the fleet does not see that.
 */
export const harborErrors = {
  override_error_policy: {
    // Of E2B's SDK, for commands and files.
    SandboxUnreachableException: { should_grade: false, has_valid_reward: false },
    // Of httpx, for what the SDK asks of the control plane.
    ConnectError: { should_grade: false, has_valid_reward: false },
  },
} as const;
